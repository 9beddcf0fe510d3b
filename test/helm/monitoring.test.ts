import { expect, it } from 'vitest'
import { readQueries } from '../observability/chart-files.ts'
import { render } from './chart.ts'
import { helms } from './helm-programs.ts'

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly annotations?: Readonly<Record<string, string>> }[]
  }[]
}

it.skipIf(helms.length === 0)(
  'alerts have the addresses of their runbooks if the values say where',
  async () => {
    const values = [
      'prometheusRule.enabled=true',
      'prometheusRule.runbookBaseUrl=https://git.example/gateway/',
    ]
    const manifests = await render(['--set', values.join(',')])
    const rule = manifests.find(({ kind }) => kind === 'PrometheusRule')
    if (rule === undefined) throw new Error('there is no PrometheusRule')
    const { groups } = rule.spec as Rules
    const annotations = groups
      .flatMap(({ rules }) => rules)
      .flatMap(({ annotations }) => (annotations ? [annotations] : []))
    expect(annotations.length).toBeGreaterThan(20)
    for (const each of annotations) {
      expect(each['runbook_url']).toMatch(
        /^https:\/\/git\.example\/gateway\/docs\/observability\.md#cataloggateway[a-z]+$/,
      )
      expect(each['runbook']).toBeUndefined()
    }
  },
)

it('every query of the dashboard selects a namespace, so releases of one name are told apart', async () => {
  for (const { title, expr } of await readQueries()) {
    const selectors = expr.match(/catalog_gateway\w+|process_\w+|nodejs_\w+/g) ?? []
    expect(expr.match(/namespace=~/g)?.length, title).toBe(selectors.length)
  }
})
