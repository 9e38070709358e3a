"""What mkdocs calls while it builds the site; mkdocs.yml names this file."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from tools.documentation.links import with_sources
from tools.documentation.navigation import filled


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages of the folders that the menu names."""
    docs = Path(config.docs_dir)
    pages = [str(page.relative_to(docs)) for page in docs.rglob("*.md")]
    config.nav = filled(config.nav or [], pages)
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Have links to the repository lead to where its files can be read."""
    return with_sources(markdown, page.file.src_uri, config.extra["forge"] or "")
