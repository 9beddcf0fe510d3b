import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { projectFolder, startProgram } from '../e2e/built-program.ts'
import { listCodeBlocks, listCommands } from '../support/code-blocks.ts'
import { eventually } from '../support/eventually.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const recipes = await readFile(join(projectFolder, 'docs/recipes.md'), 'utf8')
const [, page = ''] = /^## Personal data in a shared table$(.*?)^## /ms.exec(recipes) ?? []

async function writePolicies(): Promise<string> {
  const policies = join(await temporaryFolder(), 'policies')
  await mkdir(policies)
  await writeFile(
    join(policies, 'customers.yaml'),
    listCodeBlocks(page, 'yaml policy personal-data').join(''),
  )
  return policies
}

it('the commands of the recipe of personal data say who sees what', async () => {
  const policies = await writePolicies()
  const outputs: string[] = []
  for (const command of listCommands(page)) {
    const [program, ...words] = command.split(' ')
    expect(program).toBe('catalog-gateway')
    const end = await runCommand(words.map((word) => (word === 'POLICIES' ? policies : word)))
    expect(end, command).toMatchObject({ status: 0 })
    outputs.push(end.output)
  }
  expect(outputs[0]).toContain('restricted by customers/analysts')
  expect(outputs[1]).toContain("(`region` = 'EU')")
})

it('the program of the recipe reads the part of the table that is left to analysts', async () => {
  const policies = await writePolicies()
  const everything = {
    apiVersion: 'catalog-gateway/v1',
    kind: 'AccessPolicy',
    metadata: { name: 'owner' },
    namespace: [],
    rules: [{ id: 'owner', effect: 'allow', subjects: { users: ['dev'] }, operations: ['all'] }],
  }
  await writeFile(join(policies, 'owner.yaml'), `${JSON.stringify(everything)}\n`)
  const data = await temporaryFolder()
  const ports = ['--port', '0', '--admin-port', '0']
  const owner = ['--data-dir', data, '--policies', policies, '--api-key', 'key-of-the-owner']
  const dev = startProgram(['dev', ...ports, ...owner])
  const url = await dev.announced(/^listening on (http:\S+)$/m)
  const files = ['--store', join(data, 'keys.yaml'), '--pepper-file', join(data, 'pepper')]
  const created = await runCommand(['keys', 'create', ...files, '--principal', 'ann', '--group', 'analysts'])
  const run = async (program: string, key: string): Promise<string> => {
    const env = { ...process.env, KEY: key, CATALOG_URL: url, NO_COLOR: '1' }
    const words = ['--input-type=module', '--eval', program]
    return (await promisify(execFile)(process.execPath, words, { env, cwd: projectFolder })).stdout
  }
  await run(
    `import { connect } from '@lancedb/lancedb'
    const { KEY: apiKey, CATALOG_URL: hostOverride } = process.env
    await fetch(hostOverride + '/v1/namespace/crm/create', { method: 'POST', headers: { 'x-api-key': apiKey } })
    const row = (id, region, revenue, embedding) => ({ id, region, revenue, embedding, name: 'n' + id, ssn: 's' + id })
    const rows = [row(1, 'EU', 50, [1, 0]), row(2, 'EU', 200, [0, 1]), row(3, 'US', 300, [1, 0.1])]
    await (await connect('db://any', { apiKey, hostOverride })).createTable('customers', rows, ['crm'])`,
    'key-of-the-owner',
  )
  const output = await eventually(() => run(listCodeBlocks(page, 'js').join(''), created.output.trim()))
  expect(output.replaceAll(/[\s"]+/g, ' ')).toMatch(/^2 \[.*id : ?2, revenue : ?200.*\] \[.*id : ?1\b.*\] $/)
  expect(output).not.toContain('300')
  dev.signal('SIGTERM')
  expect((await dev.ended).status).toBe(0)
})
