import { execFile } from 'node:child_process'
import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { projectFolder, startProgram } from '../e2e/built-program.ts'
import { listCodeBlocks, listCommands } from '../support/code-blocks.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const page = await readFile(join(projectFolder, 'docs/getting-started.md'), 'utf8')
const [install, copy, dev = ''] = listCommands(page)
const [first = '', createKey = '', list = '', commit = '', audit = ''] = listCodeBlocks(page, 'sh run')
const [firstOutput, listOutput, commitOutput, auditOutput] = listCodeBlocks(page, 'text')

it('the commands of docs/getting-started.md print what it shows', async () => {
  expect(install).toBe('npm ci && npm run build')
  expect(copy).toBe('cp -r policies/development my-policies')
  const folder = await temporaryFolder()
  await cp(join(projectFolder, 'policies/development'), join(folder, 'my-policies'), { recursive: true })
  await symlink(join(projectFolder, 'node_modules'), join(folder, 'node_modules'))
  const [, , ...words] = dev.split(' ')
  const gateway = startProgram([...words, '--port', '0', '--admin-port', '0'], { folder })
  const url = await gateway.announced(/^listening on (http:\S+)$/m)

  /** Runs a block in the shell of the reader, which keeps its variables. */
  const run = async (block: string): Promise<string> => {
    const commands = block
      .replace('http://127.0.0.1:2333', url)
      .replaceAll('node dist/main.js', `'${process.execPath}' '${join(projectFolder, 'dist/main.js')}'`)
      .replaceAll(/^curl.*/gm, '$& && echo')
    const script = `set -a; touch variables; . ./variables; ${commands}\nexport -p > variables`
    const options = { cwd: folder, env: { PATH: process.env['PATH'], NO_COLOR: '1' } }
    return (await promisify(execFile)('bash', ['-e', '-c', script], options)).stdout
  }
  const waitForMessage = (message: string) => eventually(() => expect(gateway.messages()).toContain(message))

  expect(withoutIds(await run(first))).toBe(withoutIds(firstOutput))
  await run(createKey)
  await waitForMessage('keys reloaded')
  expect(withoutIds(await run(list))).toBe(withoutIds(listOutput))
  await writeFile(join(folder, 'my-policies/sales.yaml'), listCodeBlocks(page, 'yaml policy').join(''))
  await waitForMessage('policies reloaded')
  await writeFile(join(folder, 'orders.mjs'), listCodeBlocks(page, 'js').join(''))
  expect(withoutIds(await run(commit))).toBe(withoutIds(commitOutput))
  expect(withoutIds(await run(audit))).toContain(withoutIds(auditOutput))
  gateway.signal('SIGTERM')
  expect((await gateway.ended).status).toBe(0)
})

/** Leaves out what differs from run to run: times, ids of requests and chains, and the number of records. */
function withoutIds(output = ''): string {
  return output
    .replaceAll(/\b[\dT:.-]{23}Z|\b[\da-f]{8}(-[\da-f]{4,12})+(:\d+)?\b|\d+(?= records)/g, '*')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
