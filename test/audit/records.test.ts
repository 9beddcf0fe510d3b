import { expect, it } from 'vitest'
import { openAuditLog } from '../../src/audit/log.ts'
import { aRefusal, anIntent, committed, logOptions, recordsOf, temporaryFolder } from './entries.ts'

it('a record holds what the entry says, in a fixed order', async () => {
  const folder = await temporaryFolder()
  const log = await openAuditLog(logOptions(folder))
  const entry = { ...anIntent('a', { version: 7, branch: 'main\n"\u2028\ud800' }), id: ['ünïcode', '$'] }
  const receipt = await log.intent({ ...entry, objects: [{ operation: 'CreateTableVersion', id: ['x'] }] })
  await log.outcome(receipt, { ...committed, details: { etag: 'e' } })
  log.refusal({ request: 'b', status: 401, reason: 'expired', client: '10.0.0.1' })
  log.reload({ what: 'keys', revision: 'k2' })
  await log.close()

  const [start, , intent, outcome, refusal, reload] = await recordsOf(folder)
  const head = ['v', 'kind', 'chain', 'seq', 'time', 'prev']
  const ofTables = [...head, 'tables']
  expect(start).toMatchObject({ kind: 'start', gateway: 'gateway-0', software: '0.1.0' })
  expect(intent).toMatchObject(entry)
  expect(intent?.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const facts = ['request', 'operation', 'id', 'objects', 'effect', 'principal', 'rule', 'policyRevision']
  expect(Object.keys(intent ?? {})).toEqual([...ofTables, ...facts, 'client', 'upstream', 'details', 'hash'])
  expect(outcome).toMatchObject({
    ...committed,
    request: 'a',
    intentSeq: receipt.seq,
    details: { etag: 'e' },
  })
  expect(Object.keys(refusal ?? {})).toEqual([...head, 'request', 'status', 'reason', 'client', 'hash'])
  expect(reload).toMatchObject({ kind: 'reload', what: 'keys', revision: 'k2' })
})

it('nothing that an object holds besides gets into the log', async () => {
  const folder = await temporaryFolder()
  const log = await openAuditLog(logOptions(folder))
  const extra = { headers: 'SECRET' }
  const intent = anIntent('a')
  const principal = { ...intent.principal, ...extra, groups: new Set(['corp:sales']) }
  const rule = { ...intent.rule, ...extra }
  const receipt = await log.intent({ ...intent, ...extra, principal, rule })
  await log.outcome(receipt, { ...committed, ...extra })
  log.refusal({ ...aRefusal('b'), ...extra, principal, rule })
  await log.close()
  expect(JSON.stringify(await recordsOf(folder))).not.toMatch(/SECRET|sales/)
})

it('an entry that is no JSON is rejected and spoils nothing', async () => {
  const folder = await temporaryFolder()
  const log = await openAuditLog(logOptions(folder))
  const details = { version: 7n as unknown as number }
  await expect(log.intent(anIntent('a', details))).rejects.toThrow(TypeError)
  await log.intent(anIntent('b'))
  await log.close()
  expect((await recordsOf(folder)).map(({ seq }) => seq)).toEqual([0, 1, 2, 3])
})
