import { expect, inject, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { respondWith, type RecordingUpstream } from '../../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { runScenario } from '../run-scenario.ts'
import type { PythonEnvironment } from './python-environments.ts'
import { scriptCommand } from './python-scripts.ts'

const description = {
  table: 'orders',
  version: 1,
  location: '/orders',
  schema: { fields: [{ name: 'id', type: { type: 'int32' }, nullable: true }], metadata: {} },
}

/** Responds like a server of LanceDB 0.4 that refuses the parts of the third write. */
function respondAsServer(upstream: RecordingUpstream): void {
  let writes = 0
  let newest = 1
  upstream.handler = (arrival, ...rest) => {
    const { pathname, searchParams } = new URL(arrival.target, upstream.url)
    const isRefused = pathname.endsWith('/insert') && searchParams.get('upload_id') === 'upload-3'
    const respond = (): object => {
      if (isRefused) return { error: 'part refused', code: 13 }
      if (pathname.endsWith('/describe')) return description
      if (pathname.endsWith('/create')) return { upload_id: `upload-${(writes += 1)}` }
      return pathname.endsWith('/complete') ? { version: (newest += 1) } : {}
    }
    const headers = { 'content-type': 'application/json', 'phalanx-version': '0.4.0' }
    return respondWith(isRefused ? 400 : 200, respond(), headers)(arrival, ...rest)
  }
}

it('a real client inserts in parts, and overwrites with them', async ({ skip }) => {
  const environment: PythonEnvironment = 'lancedb-0.40.0'
  skip(!inject('installedClients').includes(environment), `${environment} is not installed`)
  const { gateway, upstream } = await startGatewayAndUpstream()
  respondAsServer(upstream)
  const command = scriptCommand(environment, 'lancedb_multipart_scenario.py')
  const passed = await runScenario(command, gateway.url, gateway.key('dev'))
  expect(passed).toEqual(['append', 'overwrite', 'a failed part'])
  const records = await recordsOf(gateway.auditFolder)
  const outcomes = ofKind(records, 'outcome')
  const steps = ofKind(records, 'intent').map(({ operation, effect, details, seq }) => ({
    write: details?.['upload_id'],
    operation,
    effect,
    outcome: outcomes.find(({ intentSeq }) => intentSeq === seq),
  }))
  const rowsOf = (write: string): number =>
    steps
      .filter((step) => step.write === write && step.outcome?.result === 'committed')
      .reduce((sum, { outcome }) => sum + (outcome?.upload?.rows ?? 0), 0)
  expect(['upload-1', 'upload-2', 'upload-3'].map(rowsOf)).toEqual([5, 5, 0])
  expect(steps.filter(({ effect }) => effect === 'commit')).toMatchObject([
    { operation: 'CompleteMultipartWrite', write: 'upload-1', outcome: { version: 2 } },
    { operation: 'CompleteMultipartWrite', write: 'upload-2', outcome: { version: 3 } },
  ])
  expect(steps.filter(({ operation }) => operation === 'AbortMultipartWrite')).toMatchObject([
    { write: 'upload-3' },
  ])
})
