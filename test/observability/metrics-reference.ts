import { createMetrics } from '../../src/observability/metrics/metrics.ts'

const block = /(?<=<!-- metrics: npm run reference -->\n)[^]*?(?=<!-- end -->)/

/** Replaces the list of metrics in docs/observability.md by the metrics of the code. */
export async function replaceMetrics(page: string): Promise<string> {
  const metrics = await createMetrics('0.0.0').registry.getMetricsAsJSON()
  const names = metrics.map(({ name }) => name).filter((name) => name.startsWith('catalog_gateway_'))
  const subjects = [...new Set(names.map(subjectOf))].toSorted()
  const groups = subjects.map((subject) => names.filter((name) => subjectOf(name) === subject).toSorted())
  const lines = groups.filter((group) => group.length > 2).map(listNames)
  const others = groups.filter((group) => group.length <= 2).flat()
  return page.replace(block, () => `\n${[...lines, listNames(others)].join('\n')}\n\n`)
}

/** Such as `audit` of `catalog_gateway_audit_writable`. */
function subjectOf(name: string): string {
  return name.split('_')[2] ?? ''
}

function listNames(names: readonly string[]): string {
  return `- ${names.map((name) => `\`${name}\``).join(', ')}`
}
