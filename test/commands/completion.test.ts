import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { hasErrorCode } from '../../src/lib/fs/system-error.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const typed: readonly [words: readonly string[], completed: string][] = [
  [['k'], 'keys'],
  [['keys', 'cr'], 'create'],
  [['keys', 'create', '--princ'], '--principal'],
  [['audit', 'query', 'folder', '--json', '--las'], '--last'],
]

async function writeScript(shell: string): Promise<string> {
  const path = join(await temporaryFolder(), 'script')
  await writeFile(path, (await runCommand(['completion', shell])).output)
  return path
}

/** Runs a script in bash, zsh or fish; undefined if that is not installed. */
async function runShell(shell: string, ...words: readonly string[]): Promise<string | undefined> {
  try {
    return (await promisify(execFile)(shell, words)).stdout.trim()
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return undefined
    throw error
  }
}

it.each(typed)('bash completes %j', async (words, completed) => {
  const script = await writeScript('bash')
  const complete =
    'source "$1"; shift; COMP_WORDS=(catalog-gateway "$@"); COMP_CWORD=$#; _catalog_gateway; echo "${COMPREPLY[@]}"'
  expect(await runShell('bash', '-c', complete, 'bash', script, ...words)).toBe(completed)
})

it.each(typed)('fish completes %j', async (words, completed) => {
  const complete = 'source $argv[1]; complete --do-complete (string join -- " " catalog-gateway $argv[2..])'
  const found = await runShell('fish', '-c', complete, await writeScript('fish'), ...words)
  expect([completed, undefined]).toContain(found)
})

it('zsh loads the script', async () => {
  const load = 'autoload -U compinit; compinit -u -D; source "$1" && echo loaded'
  expect(['loaded', undefined]).toContain(await runShell('zsh', '-fc', load, 'zsh', await writeScript('zsh')))
})

it('another shell is refused with those that there are', async () => {
  const { status, messages } = await runCommand(['completion', 'tcsh'])
  expect({ status, messages }).toMatchObject({
    status: 2,
    messages: expect.stringContaining('bash, zsh, fish'),
  })
})
