"""Makes dashboards what Grafana reads."""

from __future__ import annotations

import json
from string import ascii_uppercase

from grafana_foundation_sdk.builders import common, dashboard, prometheus, statetimeline, timeseries
from grafana_foundation_sdk.builders import stat as stats
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as styles
from grafana_foundation_sdk.models import dashboard as models

from tools.dashboards.model import Dashboard, Kind, Marks, Panel, Query, Variable

SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
TAG = "specfleet"

AnyPanel = stats.Panel | timeseries.Panel | statetimeline.Panel


def to_json(page: Dashboard) -> str:
    """Return the text of a dashboard's file."""
    return json.dumps(_build(page), cls=JSONEncoder, indent=2, ensure_ascii=False) + "\n"


def _build(page: Dashboard) -> models.Dashboard:
    built = (
        dashboard.Dashboard(page.title)
        .uid(f"specfleet-{page.name}")
        .description(page.description)
        .tags([TAG])
        .time("now-6h", "now")
        .refresh("30s")
        .timezone("browser")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .link(_other_dashboards())
        .with_variable(
            dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus")
        )
    )
    for variable in page.variables:
        built.with_variable(_variable(variable))
    for marks in page.marks:
        built.annotation(_annotation(marks))
    number = 0
    for row in page.rows:
        built.with_row(dashboard.Row(row.title).id(number := number + 1))
        for panel in row.panels:
            built.with_panel(_panel(panel).id(number := number + 1))
    return built.build()


def _other_dashboards() -> dashboard.DashboardLink:
    return (
        dashboard.DashboardLink("specfleet")
        .type(models.DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(True)
        .include_vars(True)
        .keep_time(True)
    )


def _variable(variable: Variable) -> dashboard.QueryVariable:
    built = (
        dashboard.QueryVariable(variable.label)
        .label(variable.label.capitalize())
        .datasource(SOURCE)
        .query(f"label_values({variable.among}, {variable.label})")
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .multi(variable.several)
        .include_all(variable.several)
    )
    if variable.several:
        everything = models.VariableOption(selected=True, text=["All"], value=["$__all"])
        built.all_value(".*").current(everything)
    return built


def _annotation(marks: Marks) -> dashboard.AnnotationQuery:
    return (
        dashboard.AnnotationQuery()
        .name(marks.name)
        .datasource(SOURCE)
        .enable(True)
        .icon_color(marks.color)
        .expr(marks.expression)
    )


def _panel(panel: Panel) -> AnyPanel:
    built: AnyPanel
    match panel.kind:
        case Kind.NUMBER:
            built = _number()
        case Kind.STATES:
            built = _states()
        case Kind.CURVES:
            built = _curves()
    built.title(panel.title).description(panel.description).datasource(SOURCE)
    built.unit(panel.unit).height(panel.height).span(panel.width)
    for letter, query in zip(ascii_uppercase, panel.queries, strict=False):
        built.with_target(_target(query, letter, instant=panel.kind is Kind.NUMBER))
    if panel.decimals is not None:
        built.decimals(panel.decimals)
    if panel.minimum is not None:
        built.min(panel.minimum)
    if panel.maximum is not None:
        built.max(panel.maximum)
    if panel.last:
        built.time_from(panel.last)
    if panel.no_value:
        built.no_value(panel.no_value)
    if panel.steps:
        steps = [models.Threshold(step.value, step.color) for step in panel.steps]
        mode = models.ThresholdsMode.ABSOLUTE
        built.thresholds(dashboard.ThresholdsConfig().mode(mode).steps(steps))
    if panel.states:
        options = {
            str(state.value): models.ValueMappingResult(
                text=state.text, color=state.color, index=index
            )
            for index, state in enumerate(panel.states)
        }
        built.mappings([models.ValueMap(options)])
    return built


def _number() -> stats.Panel:
    return (
        stats.Panel()
        .color_mode(styles.BigValueColorMode.VALUE)
        .graph_mode(styles.BigValueGraphMode.NONE)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    )


def _states() -> statetimeline.Panel:
    return (
        statetimeline.Panel()
        .show_value(styles.VisibilityMode.AUTO)
        .merge_values(True)
        .legend(common.VizLegendOptions().show_legend(False))
    )


def _curves() -> timeseries.Panel:
    return (
        timeseries.Panel()
        .line_width(2)
        .fill_opacity(0)
        .legend(
            common.VizLegendOptions()
            .show_legend(True)
            .display_mode(styles.LegendDisplayMode.LIST)
            .placement(styles.LegendPlacement.BOTTOM)
        )
        .tooltip(
            common.VizTooltipOptions()
            .mode(styles.TooltipDisplayMode.MULTI)
            .sort(styles.SortOrder.DESCENDING)
        )
    )


def _target(query: Query, letter: str, *, instant: bool) -> prometheus.Dataquery:
    built = (
        prometheus.Dataquery()
        .ref_id(letter)
        .datasource(SOURCE)
        .expr(query.expression)
        .legend_format(query.legend)
    )
    return built.instant() if instant else built.range()
