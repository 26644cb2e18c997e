// What the theme leaves out for screen readers and the keyboard: a name for the search, and tables
// and code that are wider than the page can be scrolled with the keys.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  const open = (region) => {
    region.tabIndex = 0;
    region.setAttribute("role", "group");
    region.setAttribute("aria-label", region.matches("code") ? "Code" : "Table");
  };
  new MutationObserver(() => {
    document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])").forEach(open);
  }).observe(document.body, { childList: true, subtree: true });
  document.querySelectorAll(".md-typeset__scrollwrap, pre > code").forEach(open);
});
