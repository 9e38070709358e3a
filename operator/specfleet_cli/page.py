"""A page of words, figures and plots as one HTML file that needs no other, light and dark."""

from __future__ import annotations

import html

from specfleet_cli.drawing import Plot, dark_rules

_STYLE = """
:root { color-scheme: light dark; --page: #f6f8fa; --card: #fff; --ink: #1f2328; --muted: #59636e;
  --line: #d5dae0; --accent: #0969da; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 54rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: clamp(1.5rem, 5vw, 2.1rem); line-height: 1.2; letter-spacing: -.01em;
  margin: 0 0 .6rem; text-wrap: balance; }
h2 { font-size: 1.15rem; line-height: 1.3; margin: 0 0 .4rem; }
p { margin: 0 0 1rem; color: var(--muted); overflow-wrap: break-word; max-width: 70ch; }
nav { font-size: .9rem; margin: 1.5rem 0; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin: 0;
  padding: 0; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(13.5rem, 1fr)); gap: .75rem;
  margin: 1.5rem 0; }
dl div { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: .8rem 1rem; display: flex; flex-direction: column-reverse;
  justify-content: flex-end; }
dt { color: var(--muted); font-size: .85rem; line-height: 1.35; }
dd { margin: 0 0 .15rem; font-size: 1.6rem; font-weight: 650; line-height: 1.2;
  font-variant-numeric: tabular-nums; letter-spacing: -.01em; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 1.25rem 1.4rem; margin: 1.1rem 0; scroll-margin-top: 1rem; }
figure { margin: .6rem 0 0; }
svg { display: block; width: 100%; height: auto; }
svg text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif
  !important; }
.narrow { display: none; }
.scrolls { overflow-x: auto; margin-top: .8rem; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums;
  min-width: 60%; }
th, td { text-align: right; padding: .4rem .9rem; border-bottom: 1px solid var(--line); }
th { color: var(--muted); font-weight: 600; } tbody tr:last-child td { border-bottom: 0; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
.text { text-align: left; min-width: 16rem; }
.words { white-space: pre-wrap; overflow-wrap: break-word; margin: 0;
  font: .88rem/1.6 ui-monospace, "DejaVu Sans Mono", monospace; }
@media (max-width: 40rem) {
  main { padding: 1.5rem .9rem 3rem; } section { padding: 1rem .9rem; }
  dl { grid-template-columns: repeat(2, 1fr); gap: .6rem; } dd { font-size: 1.35rem; }
  dl div { padding: .7rem .8rem; } nav { display: none; }
  .wide { display: none; } .narrow { display: block; }
  th, td { padding: .4rem .55rem; }
}
@media print { body { background: #fff; } section, dl div { break-inside: avoid; } }
"""
_DARK_STYLE = """
:root { --page: #0d1117; --card: #151b23; --ink: #e6edf3; --muted: #9198a1; --line: #30363d;
  --accent: #58a6ff; }
"""
# Says what is true anyway: nothing is loaded from anywhere, and nothing runs.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def document(title: str, body: str) -> str:
    """Return the page; `body` is HTML."""
    dark = f"@media screen and (prefers-color-scheme: dark) {{{_DARK_STYLE}{dark_rules()}\n}}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f'<link rel="icon" href="data:,">\n<title>{html.escape(title)}</title>\n'
        f"<style>{_STYLE}{dark}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{html.escape(title)}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )


def figure(plot: Plot, name: str) -> str:
    """Return a plot as HTML; `name` is for those who cannot see it."""
    drawn = "".join(
        f'<div class="{shown}">{picture}</div>'
        for shown, picture in (("wide", plot.wide), ("narrow", plot.narrow))
    )
    return f'<figure role="img" aria-label="{html.escape(name)}">{drawn}</figure>'
