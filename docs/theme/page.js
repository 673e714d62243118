// The menu of a narrow screen, and search results that stand in for the page while there is a query.
const menu = document.querySelector("details.menu");
menu.addEventListener("toggle", () => document.body.classList.toggle("menu-open", menu.open));
const query = document.getElementById("mkdocs-search-query");
if (query) {
  const results = document.getElementById("mkdocs-search-results");
  const article = document.querySelector("article");
  const show = () => {
    const asked = query.value.trim().length > 2;
    results.hidden = !asked;
    article.hidden = asked;
  };
  query.addEventListener("input", show);
  query.value = new URLSearchParams(location.search).get("q") || "";
  show();
  query.form.addEventListener("submit", (event) => event.preventDefault());
}
