//! Graphs in Graphviz's DOT language.
//!
//! Takes the whole language as <https://graphviz.org/doc/info/lang.html> has it: quoted, concatenated and HTML names,
//! ports, attribute lists, chains of edges, subgraphs at either end of them, comments, several graphs in one file (they
//! become one). Of attributes only `label` is kept. Edges lose their direction.
//!
//! The parsers that there are as crates do not do: one has another licence than this program may take in, the other one
//! refuses `{ rank=same; a; b }`.

mod lexer;

use std::collections::HashMap;

use self::lexer::{Lexer, Token, wrong};
use super::TopologyError;

/// Subgraphs inside each other that are followed.
const MOST_NESTED: usize = 100;

/// Edges that are kept: two sets of some ten thousand nodes joined by one `--` would fill the memory.
const MOST_EDGES: usize = 1 << 22;

/// A graph without its looks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Graph {
    /// In the order in which they are met.
    pub nodes: Vec<Node>,
    /// By number of node.
    pub edges: Vec<(usize, usize)>,
    /// Subgraphs that Graphviz draws a box around; each stands behind the one that it lies in.
    pub clusters: Vec<Cluster>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub name: String,
    pub label: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cluster {
    /// Its label, else its name.
    pub name: String,
    /// All nodes in it, at any depth.
    pub nodes: Vec<usize>,
    /// The cluster that it lies in.
    pub parent: Option<usize>,
}

/// Whether a text is meant to be a graph: what comes first in it is `graph`, `digraph` or `strict`.
pub(super) fn is_graph(text: &str) -> bool {
    let first = Lexer::of(text).next();
    matches!(first, Ok(Some((_, token))) if token.is_word("graph") || token.is_word("digraph") || token.is_word("strict"))
}

/// Reads a text.
pub(super) fn parse(text: &str) -> Result<Graph, TopologyError> {
    let mut lexer = Lexer::of(text);
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    let mut parser =
        Parser { tokens: tokens.into_iter().peekable(), line: 1, graph: Graph::default(), by_name: HashMap::new() };
    while parser.tokens.peek().is_some() {
        parser.graph()?;
    }
    Ok(parser.graph)
}

/// What is being read: a graph or a subgraph.
#[derive(Default)]
struct Scope {
    nodes: Vec<usize>,
    label: Option<String>,
    /// The innermost cluster.
    cluster: Option<usize>,
    depth: usize,
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<(usize, Token)>>,
    /// Of the last token.
    line: usize,
    graph: Graph,
    by_name: HashMap<String, usize>,
}

impl Parser {
    fn next(&mut self) -> Option<Token> {
        let (line, token) = self.tokens.next()?;
        self.line = line;
        Some(token)
    }

    fn peek(&mut self) -> Option<&Token> {
        self.tokens.peek().map(|(_, token)| token)
    }

    /// Takes the next token if it is this one.
    fn takes(&mut self, wanted: &Token) -> bool {
        let is_it = self.peek() == Some(wanted);
        if is_it {
            self.next();
        }
        is_it
    }

    fn takes_word(&mut self, keyword: &str) -> bool {
        let is_it = self.peek().is_some_and(|token| token.is_word(keyword));
        if is_it {
            self.next();
        }
        is_it
    }

    fn expect(&mut self, wanted: &str, found: Option<Token>) -> TopologyError {
        let found = found.map_or("the end of the file".to_owned(), |token| token.describe());
        TopologyError::Line { line: self.line, reason: format!("{wanted} should stand where {found} is") }
    }

    fn graph(&mut self) -> Result<(), TopologyError> {
        self.takes_word("strict");
        if !self.takes_word("graph") && !self.takes_word("digraph") {
            let found = self.next();
            return Err(self.expect("`graph` or `digraph`", found));
        }
        if matches!(self.peek(), Some(Token::Word(_) | Token::Name(_))) {
            self.next();
        }
        self.body(&mut Scope::default())
    }

    /// Statements in braces.
    fn body(&mut self, scope: &mut Scope) -> Result<(), TopologyError> {
        match self.next() {
            Some(Token::Sign('{')) => {}
            found => return Err(self.expect("`{`", found)),
        }
        let opened = self.line;
        loop {
            match self.peek() {
                None => return wrong(opened, "the `{` of this line is never closed"),
                Some(Token::Sign('}')) => {
                    self.next();
                    return Ok(());
                }
                Some(Token::Sign(';' | ',')) => drop(self.next()),
                Some(_) => self.statement(scope)?,
            }
        }
    }

    fn statement(&mut self, scope: &mut Scope) -> Result<(), TopologyError> {
        for keyword in ["graph", "node", "edge"] {
            if self.takes_word(keyword) {
                let label = self.attributes()?;
                if keyword == "graph" && label.is_some() {
                    scope.label = label;
                }
                return Ok(());
            }
        }
        let is_subgraph = self.peek().is_some_and(|token| token.is_word("subgraph") || *token == Token::Sign('{'));
        let mut ends = if is_subgraph {
            self.subgraph(scope)?
        } else {
            let name = self.name("a node, an attribute or a subgraph")?;
            if self.takes(&Token::Sign('=')) {
                let value = self.name("a value")?;
                if name.eq_ignore_ascii_case("label") {
                    scope.label = Some(value);
                }
                return Ok(());
            }
            vec![self.node(name, scope)?]
        };
        let single = (!is_subgraph).then(|| ends[0]);
        let mut is_edge = false;
        while self.takes(&Token::Edge) {
            is_edge = true;
            let is_subgraph = self.peek().is_some_and(|token| token.is_word("subgraph") || *token == Token::Sign('{'));
            let others = if is_subgraph {
                self.subgraph(scope)?
            } else {
                let name = self.name("a node or a subgraph")?;
                vec![self.node(name, scope)?]
            };
            if self.graph.edges.len() + ends.len().saturating_mul(others.len()) > MOST_EDGES {
                return wrong(
                    self.line,
                    format!("there are more than {MOST_EDGES} edges: leave out what is not needed"),
                );
            }
            self.graph.edges.extend(ends.iter().flat_map(|a| others.iter().map(move |b| (*a, *b))));
            ends = others;
        }
        if self.peek() == Some(&Token::Sign('[')) {
            let label = self.attributes()?;
            if let Some(node) = single.filter(|_| !is_edge && label.is_some()) {
                self.graph.nodes[node].label = label;
            }
        }
        Ok(())
    }

    fn name(&mut self, wanted: &str) -> Result<String, TopologyError> {
        match self.next() {
            Some(Token::Word(name) | Token::Name(name)) => Ok(name),
            found => Err(self.expect(wanted, found)),
        }
    }

    /// A node with the port that may follow its name.
    fn node(&mut self, name: String, scope: &mut Scope) -> Result<usize, TopologyError> {
        while self.takes(&Token::Sign(':')) {
            self.name("a port")?;
        }
        let nodes = &mut self.graph.nodes;
        let number = *self.by_name.entry(name.clone()).or_insert(nodes.len());
        if number == nodes.len() {
            nodes.push(Node { name, label: None });
        }
        scope.nodes.push(number);
        Ok(number)
    }

    /// The nodes of a subgraph, which are `scope`'s as well.
    fn subgraph(&mut self, scope: &mut Scope) -> Result<Vec<usize>, TopologyError> {
        let mut name = None;
        if self.takes_word("subgraph") && matches!(self.peek(), Some(Token::Word(_) | Token::Name(_))) {
            name = Some(self.name("a name")?);
        }
        let depth = scope.depth + 1;
        if depth > MOST_NESTED {
            return wrong(self.line, format!("more than {MOST_NESTED} subgraphs lie inside each other"));
        }
        let is_cluster = name.as_ref().is_some_and(|name| name.to_ascii_lowercase().starts_with("cluster"));
        let mut inner = Scope { cluster: scope.cluster, depth, ..Scope::default() };
        if let Some(name) = name.filter(|_| is_cluster) {
            inner.cluster = Some(self.graph.clusters.len());
            self.graph.clusters.push(Cluster { name, nodes: Vec::new(), parent: scope.cluster });
        }
        self.body(&mut inner)?;
        inner.nodes.sort_unstable();
        inner.nodes.dedup();
        if let Some(number) = inner.cluster.filter(|_| is_cluster) {
            let cluster = &mut self.graph.clusters[number];
            cluster.nodes.clone_from(&inner.nodes);
            if let Some(label) = inner.label {
                cluster.name = label;
            }
        }
        scope.nodes.extend(&inner.nodes);
        Ok(inner.nodes)
    }

    /// Attribute lists; the last label in them.
    fn attributes(&mut self) -> Result<Option<String>, TopologyError> {
        let mut label = None;
        if self.peek() != Some(&Token::Sign('[')) {
            let found = self.next();
            return Err(self.expect("`[`", found));
        }
        while self.takes(&Token::Sign('[')) {
            while !self.takes(&Token::Sign(']')) {
                if self.takes(&Token::Sign(';')) || self.takes(&Token::Sign(',')) {
                    continue;
                }
                let name = self.name("an attribute or `]`")?;
                // A name alone is as good as `name=true`.
                if self.takes(&Token::Sign('=')) {
                    let value = self.name("a value")?;
                    if name.eq_ignore_ascii_case("label") {
                        label = Some(value);
                    }
                }
            }
        }
        Ok(label)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Edges by name.
    fn edges(text: &str) -> String {
        let graph = parse(text).unwrap();
        let name = |number: usize| graph.nodes[number].name.replace('\n', "|");
        graph.edges.iter().map(|(a, b)| format!("{}-{}", name(*a), name(*b))).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_kind_is_told_by_what_comes_first() {
        for text in ["graph{}", "  // x\n/* y */ # z\nDigraph g {", "strict graph { }", "\u{feff}graph G {"] {
            assert!(is_graph(text), "{text}");
        }
        for text in ["", "SwitchName=graph", "# graph", "\"graph\" {}", "graphs {", "/* graph"] {
            assert!(!is_graph(text), "{text}");
        }
    }

    #[test]
    fn edges_are_read_however_they_are_written() {
        assert_eq!(edges("graph { a -- b -- c; d--a }"), "a-b b-c d-a");
        assert_eq!(edges("digraph x { a->b [label=\"x -> y\", len=2][color=red] b->c:p1:n }"), "a-b b-c");
        assert_eq!(edges("graph { {a b} -- subgraph s { c; d } }"), "a-c a-d b-c b-d");
        assert_eq!(edges("graph { \"n-1\":eth0 -- \"a\\\"b\" + \"c\"; 1 -- -2.5; .5 -- é }"), "n-1-a\"bc 1--2.5 .5-é");
        assert_eq!(
            edges("graph { node [shape=box] edge[len=1]; rank=same, a -- b }\n# line\ngraph two { b--c }"),
            "a-b b-c"
        );
        assert_eq!(edges("graph { \"a\\\nb\" -- <<b>x</b>> }"), "ab-<b>x</b>");
        assert_eq!(edges("GRAPH { Node [x]; NODES -- edge1 }"), "NODES-edge1");
        assert_eq!(edges("graph { a [label=1 shape=box]; a--b /* -- c */ // -- d\n }"), "a-b");
    }

    #[test]
    fn clusters_and_labels_are_kept() {
        let text = "graph { label=whole; subgraph cluster_a { label=\"rack 1\"; x; subgraph \"cluster b\" { y } }\n\
                    subgraph other { x [label=\"X\"]; z } {rank=same; x; y} }";
        let graph = parse(text).unwrap();
        let clusters: Vec<_> = graph.clusters.iter().map(|c| (&*c.name, &*c.nodes, c.parent)).collect();
        assert_eq!(clusters, [("rack 1", &[0, 1][..], None), ("cluster b", &[1][..], Some(0))]);
        assert_eq!(graph.nodes[0].label.as_deref(), Some("X"));
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, words) in [
            ("graph {\n a -- \n}", ["line 3", "a node or a subgraph"]),
            ("graph {\n\n node-1 -- b }", ["line 3", "\"node-1\""]),
            ("graph { n.1 }", ["line 1", "`n.1`"]),
            ("graph {\n a@b }", ["line 2", "need quotes"]),
            ("graph { 10.0.0.1 }", ["line 1", "\"10.0.0.1\""]),
            ("graph {\n a -- \"b\n }", ["line 2", "no end"]),
            ("graph { a /* b", ["line 1", "`*/`"]),
            ("graph { a -- <b }", ["line 1", "`>`"]),
            ("graph {\n a", ["line 1", "never closed"]),
            ("graph {} }", ["line 1", "`graph` or `digraph`"]),
            ("graph { a [label=] }", ["line 1", "a value"]),
            ("graph { node }", ["line 1", "`[`"]),
            ("graph", ["line 1", "the end of the file"]),
            ("graph { \"a\" + b }", ["line 1", "`+`"]),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{text}: {error}");
        }
    }

    #[test]
    fn nothing_fills_the_memory_or_the_stack() {
        let deep = format!("graph {}", "{".repeat(100_000));
        assert!(parse(&deep).unwrap_err().to_string().contains("inside each other"));
        let many: String = (0..3000).map(|k| format!("n{k} ")).collect();
        let error = parse(&format!("graph {{ {{{many}}} -- {{{many}}} }}")).unwrap_err();
        assert!(error.to_string().contains("edges"), "{error}");
    }

    proptest! {
        #[test]
        fn no_text_leads_to_a_panic(text in "(graph|digraph) ?\\{([a-c\"<>{}=;,:+ \\[\\]\\\\\n0-9.-]|--|->|subgraph |é){0,40}") {
            let _ = parse(&text);
        }
    }
}
