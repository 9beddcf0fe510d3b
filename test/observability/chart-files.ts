import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

interface Rule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export function chartFile(name: string): string {
  return fileURLToPath(new URL(`../../helm/catalog-gateway/files/${name}`, import.meta.url))
}

export async function readRules(): Promise<readonly Rule[]> {
  const { groups } = parse(await readFile(chartFile('alerts.yaml'), 'utf8')) as {
    groups: { rules: Rule[] }[]
  }
  return groups.flatMap(({ rules }) => rules)
}

/** Reads every dashboard query: those of panels, with the title, and those of variables. */
export async function readQueries(): Promise<readonly { title: string; expr: string }[]> {
  const { panels, annotations } = JSON.parse(await readFile(chartFile('dashboard.json'), 'utf8')) as {
    panels: { title: string; targets?: { expr: string }[] }[]
    annotations: { list: { name: string; expr: string }[] }
  }
  return [
    ...panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ title, expr: substituteVariables(expr) })),
    ),
    ...annotations.list.map(({ name, expr }) => ({ title: name, expr: substituteVariables(expr) })),
  ]
}

/** Substitutes the variables as Grafana does if all values are selected. */
function substituteVariables(expr: string): string {
  return expr
    .replaceAll('$__rate_interval', '5s')
    .replaceAll('$__range', '5s')
    .replaceAll(/\$(?:namespace|job|instance|operation)\b/g, '.*')
}
