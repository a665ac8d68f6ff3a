//! `view`: pictures, tables and their JSON.

use netmatrix::record::{Cell, State, Statistic};

use super::*;

#[test]
fn view_draws_without_colours_into_pipes() {
    let (_folder, prefix) = typical();
    golden::check("view.txt", &analyze(["view", text(&prefix)]).silently());
}

#[test]
fn view_draws_in_the_colours_that_are_there() {
    let (_folder, prefix) = typical();
    let arguments = ["view", text(&prefix), "--color", "always"];
    golden::check("view-true.txt", &ended(program().args(arguments).env("COLORTERM", "truecolor")).silently());
    golden::check("view-256.txt", &analyze(arguments).silently());
    let never = ended(program().args(["view", text(&prefix)]).env("NO_COLOR", "1").env("COLORTERM", "truecolor"));
    golden::check("view.txt", &never.silently());
}

#[test]
fn five_hundred_ranks_fit_a_narrow_terminal() {
    let slow = Fault::Link { hosts: (123, 456), direction: Direction::Send, symptom: Symptom::Slower(5.0) };
    let few = |config: &mut Config| {
        config.iterations = 1;
        config.sweep = Sweep::list(&[Bytes(1 << 20)]).unwrap();
    };
    let mut machine = Machine::leaf_spine(500, 20, 1).with(slow);
    machine.noise.tail_probability = 0.0;
    let (_folder, prefix) = stored(&measured(&machine, few));
    let shown = analyze(["view", text(&prefix), "--width", "80"]).silently();
    golden::check("view-500.txt", &shown);
    assert!(shown.lines().all(|line| line.chars().count() <= 80));
    assert!(shown.contains("from node124 to node457"), "{shown}");
    let half = analyze(["view", text(&prefix), "--width", "80", "--color", "always"]).silently();
    golden::check("view-500-256.txt", &half);
    let median = analyze(["view", text(&prefix), "--width", "60", "--aggregate", "median"]).silently();
    assert!(median.contains("each cell: median of a block of"), "{median}");
}

#[test]
fn the_nearest_length_is_shown_and_said() {
    let (_folder, prefix) = typical();
    let exact = analyze(["view", text(&prefix), "--length", "64K"]).silently();
    assert!(exact.starts_with("median of one_to_one at 64K bytes\n"), "{exact}");
    let near = analyze(["view", text(&prefix), "--length", "60000"]);
    assert_eq!((near.code, near.stdout), (0, exact));
    assert!(near.stderr.contains("60000 bytes were not measured; the nearest length is 64K"), "{}", near.stderr);
}

#[test]
fn the_range_and_the_scale_can_be_chosen() {
    let (_folder, prefix) = typical();
    let ranged = analyze(["view", text(&prefix), "--range", "10us:1ms", "--scale", "linear"]).silently();
    assert!(ranged.contains("10.0 us ...") && ranged.contains("1.00 ms (linear scale)"), "{ranged}");
    let deviation = analyze(["view", text(&prefix), "-s", "deviation", "-l", "0"]).silently();
    assert!(deviation.starts_with("deviation of one_to_one at 0 bytes"), "{deviation}");
}

#[test]
fn rows_columns_and_pairs_are_listed() {
    let (_folder, prefix) = typical();
    let list = |arguments: &[&str]| analyze([&["view", text(&prefix)], arguments].concat()).silently();
    golden::check("view-row.txt", &list(&["--row", "node003"]));
    golden::check("view-column.txt", &list(&["--column", "2"]));
    golden::check("view-pair.txt", &list(&["--row", "node003", "--column", "7"]));
}

#[test]
fn what_is_shown_is_a_document_too() {
    let (_folder, prefix) = typical();
    let document = |arguments: &[&str]| -> Value {
        let arguments = [&["view", text(&prefix), "--format", "json"], arguments].concat();
        serde_json::from_str(&analyze(arguments).silently()).unwrap()
    };
    let count = |value: &Value| value.as_array().unwrap().len();
    let run = store::open(&prefix).unwrap();
    let medians = run.matrix(Statistic::Median, 3).unwrap();
    let matrix = document(&["--length", "64K"]);
    assert_eq!((&matrix["schema"], &matrix["lengths"]), (&"network_test.cells/1".into(), &vec![65_536].into()));
    assert_eq!((count(&matrix["sources"]), count(&matrix["destinations"]), count(&matrix["statistics"])), (8, 8, 1));
    let values = &matrix["statistics"][0]["values"][0];
    assert_eq!((&values[2][7], &values[0][5]), (&medians[(2, 7)].into(), &Value::Null));
    let row = document(&["--length", "64K", "--row", "node003"]);
    assert_eq!((&row["sources"][0]["host"], &row["statistics"][0]["values"][0][0]), (&"node003".into(), &values[2]));
    let column = document(&["--length", "64K", "--column", "7"]);
    assert_eq!(&column["statistics"][0]["values"][0][2], &Value::from(vec![medians[(2, 7)]]));
    // As the table of a pair: all statistics at all lengths.
    let pair = document(&["--row", "node003", "--column", "node008"]);
    assert_eq!((count(&pair["lengths"]), count(&pair["statistics"])), (5, run.statistics().len()));
    let median = pair["statistics"].as_array().unwrap().iter().find(|statistic| statistic["name"] == "median").unwrap();
    assert_eq!((&median["values"][3][0][0], &median["unit"]), (&medians[(2, 7)].into(), &"s".into()));
}

#[test]
fn damaged_payloads_are_said_where_their_times_are_shown() {
    let whole = measured(&machine(), |config| config.verify = true);
    let mut run = MemoryRun::new(whole.header().clone());
    for (index, length) in whole.lengths().iter().enumerate() {
        let mut cells = whole.cells(index).to_vec();
        cells[2 * 8 + 7] = Cell { state: State::Damaged, damaged: 1, ..cells[2 * 8 + 7] };
        run.push(*length, cells);
    }
    let (_folder, prefix) = stored(&run);
    for (arguments, cells) in [
        (&["--format", "json"][..], "1 cell "),
        (&[], "1 cell "),
        (&["--row", "node003"], "1 cell "),
        (&["--column", "node008"], "1 cell "),
        (&["--row", "2", "--column", "7"], "5 cells "),
    ] {
        let ended = analyze([&["view", text(&prefix)], arguments].concat());
        assert!(
            ended.stderr.contains(&format!("payloads arrived damaged in {cells}")),
            "{arguments:?}: {}",
            ended.stderr
        );
        assert_eq!(ended.code, 0);
    }
    analyze(["view", text(&prefix), "--row", "node001"]).silently();
}
