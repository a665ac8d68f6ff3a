// Finding hosts and ranks by name or number.

// Ranks that a text may mean: what is called so, else the rank of that number, else those with it in their names.
function ranksSought(text) {
  const { labels, ranks } = run();
  const named = ranksNamed(text, run());
  if (named.length) return named;
  if (/^\d+$/.test(text) && Number(text) < ranks) return [Number(text)];
  const part = text.toLowerCase();
  return [...labels.keys()].filter((rank) => labels[rank].toLowerCase().includes(part));
}

// Shows the rank that a text means; of several the one behind that of the last time.
function search() {
  const text = byId("search").value.trim();
  const ranks = text ? ranksSought(text) : [];
  const place = ranks.length ? (ranks.indexOf(view.found) + 1) % ranks.length : -1;
  const answers = [`no host or rank is called \u201c${text}\u201d`, "", `${place + 1} of ${ranks.length}, Enter: next`];
  byId("search-answer").textContent = text ? answers[Math.min(ranks.length, 2)] : "";
  if (place >= 0) return showRank(ranks[place]);
  view.found = -1;
  show();
}

// Frames the row and the column of a rank.
function showRank(rank) {
  view.found = rank;
  view.source = rank;
  if (view.destination === rank) view.destination = rank === 0 ? Math.min(1, run().ranks - 1) : 0;
  show({ reveal: true });
}

function listenToSearch() {
  const input = byId("search");
  let sought = "";
  const seek = () => {
    sought = input.value;
    search();
  };
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    // Else the form would be sent, somewhere.
    event.preventDefault();
    seek();
  });
  // A choice from the list, or leaving the field; not what Enter has sought already.
  input.addEventListener("change", () => input.value !== sought && seek());
}
