import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { temporaryFolder } from '../e2e/built-program.ts'
import { render } from './chart.ts'
import { helms } from './helm-programs.ts'

async function refusalOf(values: object): Promise<string> {
  const file = join(await temporaryFolder(), 'values.yaml')
  await writeFile(file, stringify(values))
  const failure = await render(['--values', file]).then(
    () => undefined,
    (error: { readonly stderr?: string }) => error.stderr,
  )
  if (failure === undefined) throw new Error('the values were not refused')
  return failure
}

describe.skipIf(helms.length === 0)('values', () => {
  it('that conflict are refused, all at once', async () => {
    const refusal = await refusalOf({
      autoscaling: { enabled: true },
      persistence: { enabled: false },
      config: { audit: { modes: { data: 'durable', admin: 'besteffort' } } },
      serviceMonitor: { enabled: true },
      ingress: { enabled: true },
      httpRoute: { enabled: true },
      catalog: { enabled: true, replicaCount: 2 },
    })
    for (const reported of [
      'config.audit.modes.commit is strict',
      'config.audit.modes.data is durable',
      'expected pageTokens.existingSecret',
      'expected networkPolicy.adminFrom',
      'expected ingress.hosts',
      'expected httpRoute.parentRefs',
      'expected catalog.accessToken.existingSecret',
      'several catalogs cannot share SQLite',
      'several catalogs need the same tables',
    ]) {
      expect(refusal).toContain(reported)
    }
    expect(refusal).not.toContain('modes.admin')
  })

  it('of a catalog that would lose its tables with its pod are refused', async () => {
    const refusal = await refusalOf({
      catalog: { enabled: true, accessToken: { existingSecret: 'token' }, persistence: { enabled: false } },
    })
    expect(refusal).toContain('without a volume, tables in a folder and a catalog in SQLite go with the pod')
  })

  it('that the schema does not allow are refused', async () => {
    const refusal = await refusalOf({
      replicas: 2,
      image: { registry: 'images.example' },
      catalog: { tokn: {} },
      policies: { inline: { '../escape.yaml': 'x', 'a.b/c.yaml': 'x' } },
      service: { port: 0 },
      apiKeys: { existingSecret: 'Not A Name' },
    })
    for (const reported of [
      'replicas',
      'registry',
      'tokn',
      '../escape.yaml',
      'a.b/c.yaml',
      'service',
      'apiKeys',
    ]) {
      expect(refusal).toContain(reported)
    }
  })
})
