import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { runProgram } from '../../e2e/built-program.ts'
import { runCommand } from '../../support/run-command.ts'
import { linesOf, servingGateway } from '../../observability/serving-gateway.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const policy =
  '{apiVersion: catalog-gateway/v1, kind: AccessPolicy, metadata: {name: a}, namespace: [], rules: []}'

/** Paths without policies, and the expected messages. */
async function locations(): Promise<readonly (readonly [path: string, message: RegExp])[]> {
  const folder = await temporaryFolder()
  const path = (name: string): string => join(folder, name)
  await writeFile(path('a.yaml'), policy)
  await mkdir(path('empty'))
  await mkdir(path('json'))
  await writeFile(join(path('json'), 'a.json'), policy)
  await mkdir(path('blank'))
  await writeFile(join(path('blank'), 'a.yaml'), '# nothing yet\n')
  const none = /contains no policy in \.yaml or \.yml files/
  return [
    [path('a.yaml'), /a\.yaml: is not a folder; expected a folder of \.yaml or \.yml files/],
    [path('empty'), none],
    [path('json'), none],
    [path('blank'), /a\.yaml: has neither a policy nor a test/],
  ]
}

describe('a place that holds no policy is refused', () => {
  const commands: readonly (readonly [name: string, parameters: (location: string) => readonly string[]])[] =
    [
      ['lint', (location) => ['lint', '--policies', location]],
      ['explain', (location) => ['explain', '--policies', location, '--as', 'al', 'DropTable', 'a/b']],
      ['who-can', (location) => ['who-can', '--policies', location, 'DropTable', 'a/b']],
      ['what-can', (location) => ['what-can', '--policies', location, '--as', 'al']],
      ['test', (location) => ['test', '--policies', location]],
      ['diff', (location) => ['diff', location, location]],
      ['replay', (location) => ['replay', '--audit', location, '--candidate', location]],
    ]
  it.for(commands)('by policy %s', async ([, parameters]) => {
    for (const [location, message] of await locations()) {
      const { status, output, messages } = await runCommand(['policy', ...parameters(location)])
      expect({ place: location, status, output }).toEqual({ place: location, status: 1, output: '' })
      expect(messages).toMatch(message)
    }
  })

  it('by check, for one folder and for several', async () => {
    const folder = await temporaryFolder()
    for (const name of ['good', 'next']) {
      await mkdir(join(folder, name))
      await writeFile(join(folder, name, 'a.yaml'), policy)
    }
    await writeFile(join(folder, 'pepper'), 'a-pepper-of-at-least-thirty-two-characters')
    await writeFile(join(folder, 'keys.yaml'), 'keys: []\n')
    const check = async (policies: object) => {
      const file = join(folder, 'gateway.yaml')
      const identity = { apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' } }
      const upstream = { url: 'http://127.0.0.1:9' }
      await writeFile(file, stringify({ upstream, identity, policies, audit: { folder: 'audit' } }))
      return runCommand(['check', '--config', file])
    }
    const renamed = policy.replace(/name: \w+/, 'name: next')
    await writeFile(join(folder, 'next', 'a.yaml'), renamed)
    expect(await check({ folder: ['good', 'next'] })).toMatchObject({
      status: 0,
      messages: '',
    })
    for (const [location, message] of await locations()) {
      for (const policies of [{ folder: location }, { folder: ['good', location] }]) {
        const { status, messages } = await check(policies)
        expect({ policies, status }).toEqual({ policies, status: 1 })
        expect(messages).toMatch(message)
      }
    }
  })

  it('by dev and serve, if it is a file', async () => {
    const file = join(await temporaryFolder(), 'a.yaml')
    await writeFile(file, policy)
    const ports = ['--port', '0', '--admin-port', '0', '--data-dir', await temporaryFolder()]
    const { status, messages } = await runProgram(['dev', ...ports, '--policies', file])
    expect(status).toBe(1)
    expect(messages).toMatch(/^the gateway cannot start:\n.*a\.yaml: is not a folder/m)
  })
})

it('a gateway without any policy starts, and warns that it denies every request', async () => {
  const gateway = await servingGateway(
    {},
    { 'policies/policies.yaml': `${policy.replace('{api', '{mode: shadow, api')}\n` },
  )
  expect((await gateway.post('/v1/namespace/a/create')).status).toBe(403)
  const lines = linesOf(await gateway.stop())
  expect(lines.find(({ msg }) => msg === 'no policies: every request is denied')).toMatchObject({
    level: 40,
  })
})

it('a folder of decision tables without a table is refused', async () => {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'policies'))
  await writeFile(join(folder, 'policies', 'a.yaml'), policy)
  await mkdir(join(folder, 'tests'))
  const test = ['test', '--policies', join(folder, 'policies'), '--tests', join(folder, 'tests')]
  expect(await runCommand(['policy', ...test])).toMatchObject({
    status: 1,
    messages: expect.stringContaining('contains no decision table in .yaml or .yml files'),
  })
})
