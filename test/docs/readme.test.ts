import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { listCodeBlocks } from '../support/code-blocks.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const readme = await readFile(join(root, 'README.md'), 'utf8')
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'readme-'))
  // The README is read in a checkout, which has a folder of policies that are not for a gateway.
  await cp(join(root, 'policies'), join(folder, 'policies'), { recursive: true })
  const policy = /Write a policy, such as `([^`]+)`/.exec(readme)?.[1] ?? ''
  await mkdir(join(folder, dirname(policy)))
  await writeFile(join(folder, policy), block('yaml policy'))
  await writeFile(join(folder, 'gateway.yaml'), block('yaml settings'))
  await writeFile(join(folder, 'upstream-token'), 'Bearer secret')
})

afterAll(() => rm(folder, { recursive: true }))

function block(kind: string): string {
  const [text] = listCodeBlocks(readme, kind)
  if (text === undefined) throw new Error(`README.md has no block ${kind}`)
  return text
}

/** Runs a command of the README in a temporary folder. */
async function run(command: string): Promise<string> {
  expect(readme).toContain(`\n${command}\n`)
  const built = command.replace(
    'npx catalog-gateway',
    `'${process.execPath}' '${join(root, 'dist/main.js')}'`,
  )
  return (await promisify(execFile)('bash', ['-c', built], { cwd: folder })).stdout
}

it('contains the commands to start and to test', () => {
  expect(readme).toContain('\nnpm ci && npm start\n')
  expect(readme).toContain('\nnpm ci && npm test\n')
})

it('shows valid settings, a valid policy and working commands', async () => {
  const create =
    'npx catalog-gateway keys create --store keys.yaml --pepper-file pepper --principal etl --group writers'
  expect(await run(create)).toMatch(/^cgk_\w+\n$/)
  expect(await run('npx catalog-gateway check --config gateway.yaml')).toContain(
    'https://catalog.internal:8443',
  )
})

it('src/README.md lists every folder of src, and no other', async () => {
  const entries = await readdir(join(root, 'src'), { withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${name}/`)
  const page = await readFile(join(root, 'src', 'README.md'), 'utf8')
  const named = [...page.matchAll(/^([\w-]+\/) /gm)].map(([, name]) => name)
  expect(new Set(named)).toEqual(new Set(folders))
})
