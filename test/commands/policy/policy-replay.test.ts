import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { projectFolder } from '../../e2e/built-program.ts'
import { runCommand } from '../../support/run-command.ts'
import { startDev } from '../../e2e/running-dev.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const development = join(projectFolder, 'policies', 'development')

interface Report {
  readonly calls: number
  readonly unchanged: number
  readonly changed: readonly object[]
  readonly undecided: readonly { readonly missing: readonly string[] }[]
}

it('replays the log of a gateway with other policies, without guessing unlogged facts', async () => {
  const dataFolder = await temporaryFolder()
  const dev = await startDev({ dataFolder })
  const analyst = await dev.createKey('ann', '--group', 'analysts')
  for (const name of ['demo', 'other']) await dev.send('POST', `/v1/namespace/${name}/create`, {})
  await dev.send('POST', '/v1/namespace/other/drop', {})
  for (const target of ['/v1/namespace/demo$inner/create', '/v1/table/demo$cities/drop']) {
    const refused = await dev.send('POST', target, {}, { 'x-api-key': analyst })
    expect(refused.status).toBe(403)
  }
  await dev.stop()

  const candidate = await temporaryFolder()
  await cp(development, candidate, { recursive: true })
  const rules = [
    { id: 'no-drops', effect: 'deny', subjects: { users: ['dev'] }, operations: ['DropNamespace'] },
    {
      id: 'analysts',
      effect: 'allow',
      subjects: { groups: ['analysts'] },
      operations: ['create', 'DropTable'],
    },
  ]
  const head = { apiVersion: 'catalog-gateway/v1', kind: 'AccessPolicy', metadata: { name: 'more' } }
  await writeFile(join(candidate, 'more.yaml'), stringify({ ...head, namespace: [], rules }))

  const replay = ['policy', 'replay', '--audit', dev.auditFolder, '--candidate', candidate]
  const { status, output, messages } = await runCommand([...replay, '--json'])
  expect({ status, messages }).toEqual({ status: 0, messages: '' })
  const report = JSON.parse(output) as Report
  const changed = { principal: 'dev', count: 1, operation: 'DropNamespace' }
  const drop = { ...changed, principal: 'ann', operation: 'DropTable' }
  expect(report.changed).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        ...changed,
        before: expect.objectContaining({ allowed: true }),
        after: { allowed: false, rule: expect.objectContaining({ rule: 'no-drops' }) },
      }),
      expect.objectContaining({
        ...drop,
        before: { allowed: false },
        after: { allowed: true, rule: expect.objectContaining({ rule: 'analysts' }) },
      }),
    ]),
  )
  const other = 'which other permissions it required'
  expect(report.undecided.map(({ missing }) => missing)).toEqual([['what the listing may show'], [other]])
  expect(report.calls).toBe(report.unchanged + 4)
  expect(report.unchanged).toBeGreaterThanOrEqual(2)

  const people = await runCommand([...replay, '--fail-on-change'])
  expect(people).toMatchObject({ status: 1, messages: '2 decisions change\n' })
  expect(people.output).toMatch(/^DropNamespace\n {2}dev: allowed -> denied, 1 call\n/m)
  expect(people.output).toMatch(/before: allowed by development\/dev-may-do-everything/)
  expect(people.output).toMatch(/undecided: 1, because the log does not contain which other permissions/m)
  expect(people.output).toMatch(/^\d+ calls: \d+ unchanged, 2 changed, 2 undecided$/m)

  expect(await runCommand([...replay, '--since', '2100-01-01T00:00:00Z'])).toMatchObject({
    status: 1,
    messages: expect.stringContaining('contains no requests; is it the folder of an audit log?'),
  })
})
