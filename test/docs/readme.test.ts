import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { parsePolicies } from '../policy/parse-policies.ts'
import { projectFolder } from '../e2e/built-program.ts'
import { listCodeBlocks } from '../support/code-blocks.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const readProject = (file: string) => readFile(join(projectFolder, file), 'utf8')
const readme = await readProject('README.md')
const firstSteps = await readProject('docs/getting-started.md')

it('contains the commands to start and to test', () => {
  expect(readme).toContain('\nnpm ci && npm start\n')
  expect(readme).toContain('\nnpm ci && npm test\n')
})

it('shows a valid policy', () => {
  const [policy = ''] = listCodeBlocks(readme, 'yaml policy')
  expect(parsePolicies(policy, 'sales.yaml')).toMatchObject({ documents: [{ name: 'sales' }], problems: [] })
})

it('docs/getting-started.md shows valid settings and how to check them', async () => {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'my-policies'))
  await writeFile(join(folder, 'my-policies/sales.yaml'), listCodeBlocks(firstSteps, 'yaml policy').join(''))
  await writeFile(join(folder, 'gateway.yaml'), listCodeBlocks(firstSteps, 'yaml settings').join(''))
  await writeFile(join(folder, 'upstream-token'), 'Bearer secret')
  const run = async (command: string): Promise<string> => {
    expect(firstSteps).toContain(`\n${command}\n`)
    const program = `'${process.execPath}' '${join(projectFolder, 'dist/main.js')}'`
    const built = command.replace('node dist/main.js', program)
    return (await promisify(execFile)('bash', ['-c', built], { cwd: folder })).stdout
  }
  await run('mkdir gateway-policies && cp my-policies/sales.yaml gateway-policies')
  const create =
    'node dist/main.js keys create --store keys.yaml --pepper-file pepper --principal etl --group writers'
  expect(await run(create)).toMatch(/^cgk_\w+\n$/)
  expect(await run('node dist/main.js check --config gateway.yaml')).toContain(
    'https://catalog.internal:8443',
  )
})
