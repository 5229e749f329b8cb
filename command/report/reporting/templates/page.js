"use strict";
// Sorting by the buttons of a table's head.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th"), table = head.closest("table"), body = table.tBodies[0];
    const falling = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("th[aria-sort]")) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const key = row => {
      const cell = row.cells[head.cellIndex];
      return cell.dataset.value ?? cell.textContent.trim();
    };
    const numeric = head.classList.contains("number");
    const rows = Array.from(body.rows, row => [key(row), row]);
    const before = (a, b) => numeric ? parseFloat(a) - parseFloat(b) : a.localeCompare(b);
    rows.sort((a, b) => falling ? before(b[0], a[0]) : before(a[0], b[0]));
    body.append(...rows.map(row => row[1]));
  });
}
// Filtering by text and by verdict.
for (const form of document.querySelectorAll("form[data-table]")) {
  const body = document.getElementById(form.dataset.table).tBodies[0];
  const said = form.querySelector("output");
  const filter = () => {
    const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kind = form.elements.kind ? form.elements.kind.value : "";
    let shown = 0;
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = (kind !== "" && row.dataset.kind !== kind) || !words.every(word => text.includes(word));
      shown += !row.hidden;
    }
    said.value = `${shown} of ${body.rows.length} rows`;
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", event => event.preventDefault());
  filter();
}
// Copying a line: by the clipboard where the browser allows it, else by selecting the text.
document.addEventListener("click", async event => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  const line = button.previousElementSibling;
  let done = false;
  try {
    await navigator.clipboard.writeText(line.textContent);
    done = true;
  } catch {
    getSelection().selectAllChildren(line);
    done = document.execCommand("copy");
  }
  button.textContent = done ? "Copied" : "Press Ctrl+C";
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
});
// A link to a counterexample opens it.
const open = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
};
addEventListener("hashchange", open);
addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
open();
