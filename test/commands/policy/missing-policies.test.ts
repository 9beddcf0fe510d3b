import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runProgram } from '../../e2e/built-program.ts'
import { runCommand } from '../../support/run-command.ts'
import { linesOf, servingGateway } from '../../observability/serving-gateway.ts'
import { writeFiles } from '../../policy/source/policy-folder.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const policy =
  '{apiVersion: catalog-gateway/v1, kind: AccessPolicy, metadata: {name: a}, namespace: [], rules: []}'

/** Paths without policies, and the expected messages. */
async function locations(): Promise<readonly (readonly [path: string, message: RegExp])[]> {
  const folder = await temporaryFolder()
  await writeFiles(folder, { 'a.yaml': policy, 'json/a.json': policy, 'blank/a.yaml': '# nothing yet\n' })
  return [
    [join(folder, 'a.yaml'), /a\.yaml: is not a folder; expected a folder of \.yaml or \.yml files/],
    [join(folder, 'json'), /contains no policy in \.yaml or \.yml files/],
    [join(folder, 'blank'), /a\.yaml: has neither a policy nor a test/],
  ]
}

it.for<[name: string, parameters: (location: string) => readonly string[]]>([
  ['policy lint', (location) => ['--policies', location]],
  ['policy explain', (location) => ['--policies', location, '--as', 'al', 'DropTable', 'a/b']],
  ['policy who-can', (location) => ['--policies', location, 'DropTable', 'a/b']],
  ['policy what-can', (location) => ['--policies', location, '--as', 'al']],
  ['policy test', (location) => ['--policies', location]],
  ['policy diff', (location) => [location, location]],
  ['policy replay', (location) => ['--audit', location, '--candidate', location]],
])('%s refuses a place that holds no policy', async ([name, parameters]) => {
  for (const [location, message] of await locations()) {
    const { status, output, messages } = await runCommand([...name.split(' '), ...parameters(location)])
    expect({ location, status, output }).toEqual({ location, status: 1, output: '' })
    expect(messages).toMatch(message)
  }
})

it('so does a gateway', async () => {
  const file = join(await temporaryFolder(), 'a.yaml')
  await writeFile(file, policy)
  const ports = ['--port', '0', '--admin-port', '0', '--data-dir', await temporaryFolder()]
  const { status, messages } = await runProgram(['dev', ...ports, '--policies', file])
  expect(status).toBe(1)
  expect(messages).toMatch(/^the gateway cannot start:\n.*a\.yaml: is not a folder/m)
})

it('a gateway without any policy starts, and warns that it denies every request', async () => {
  const gateway = await servingGateway(
    {},
    { 'policies/policies.yaml': `${policy.replace('{api', '{mode: shadow, api')}\n` },
  )
  expect((await gateway.post('/v1/namespace/a/create')).status).toBe(403)
  const lines = linesOf(await gateway.stop())
  expect(lines.find(({ msg }) => msg === 'no policies: every request is denied')).toMatchObject({ level: 40 })
})
