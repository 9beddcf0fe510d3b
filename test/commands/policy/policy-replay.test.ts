import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
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
  readonly changed: readonly {
    readonly operation: string
    readonly principal: string
    readonly count: number
    readonly before: { readonly allowed: boolean }
    readonly after: { readonly allowed: boolean; readonly rule?: { readonly rule: string } }
  }[]
  readonly undecided: readonly { readonly count: number; readonly missing: readonly string[] }[]
}

const listMissing = ({ undecided }: Report) => undecided.map(({ missing }) => missing)

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

  const withoutGroups = await temporaryFolder()
  for (const file of await readdir(dev.auditFolder)) {
    const text = await readFile(join(dev.auditFolder, file), 'utf8')
    await writeFile(join(withoutGroups, file), text.replaceAll(/,"groups":\[[^\]]*\]/g, ''))
  }

  const replay = async (audit: string): Promise<Report> => {
    const folders = ['--audit', audit, '--candidate', candidate]
    const { status, output, messages } = await runCommand(['policy', 'replay', ...folders, '--json'])
    expect({ status, messages }).toEqual({ status: 0, messages: '' })
    return JSON.parse(output) as Report
  }
  const report = await replay(withoutGroups)
  expect(report.changed).toEqual([
    expect.objectContaining({
      operation: 'DropNamespace',
      principal: 'dev',
      count: 1,
      before: expect.objectContaining({ allowed: true }),
      after: { allowed: false, rule: expect.objectContaining({ rule: 'no-drops' }) },
    }),
  ])
  const [groups, other] = ['the groups of the caller', 'which other permissions it required']
  const listing = 'what the listing may show'
  expect(listMissing(report)).toEqual([[listing], [groups, other], [groups]])
  expect(report.calls).toBe(report.unchanged + 4)
  expect(report.unchanged).toBeGreaterThanOrEqual(2)

  // `dev` records groups.
  const decided = await replay(dev.auditFolder)
  expect(listMissing(decided)).toEqual([[listing], [other]])
  expect(decided.changed).toContainEqual(
    expect.objectContaining({
      operation: 'DropTable',
      principal: 'ann',
      before: { allowed: false },
      after: { allowed: true, rule: expect.objectContaining({ rule: 'analysts' }) },
    }),
  )

  const people = await runCommand([
    'policy',
    'replay',
    '--audit',
    withoutGroups,
    '--candidate',
    candidate,
    '--fail-on-change',
  ])
  expect(people).toMatchObject({ status: 1, messages: '1 decisions change\n' })
  expect(people.output).toMatch(/^DropNamespace\n {2}dev: allowed -> denied, 1 call\n/)
  expect(people.output).toMatch(/before: allowed by development\/dev-may-do-everything/)
  expect(people.output).toMatch(/undecided: 1, because the log does not contain the groups of the caller$/m)

  expect(people.output).toMatch(/^\d+ calls: \d+ unchanged, 1 changed, 3 undecided$/m)

  const none = await replayNothing(dev.auditFolder, candidate)
  expect(none).toMatchObject({
    status: 1,
    messages: expect.stringContaining('contains no requests; is it the folder of an audit log?'),
  })
})

async function replayNothing(audit: string, candidate: string) {
  const since = ['--since', '2100-01-01T00:00:00Z']
  return runCommand(['policy', 'replay', '--audit', audit, '--candidate', candidate, ...since])
}
