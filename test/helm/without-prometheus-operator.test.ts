import { expect, it } from 'vitest'
import { chartFolder, goldenManifests, valuesFile } from './chart.ts'
import { helm, helms } from './helm-programs.ts'

const kindsOfTheOperator = ['PrometheusRule', 'ServiceMonitor']

it.skipIf(helms.length === 0)(
  'no resources of the Prometheus operator are rendered if the cluster lacks it',
  async () => {
    const text = await helm(['template', 'release', chartFolder, '--values', valuesFile('monitoring')])
    const kinds = goldenManifests('monitoring').map(({ kind }) => kind)
    for (const kind of kindsOfTheOperator) {
      expect(kinds).toContain(kind)
      expect(text).not.toContain(`kind: ${kind}`)
    }
    expect(text).toContain('grafana_dashboard')
  },
)
