import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand, type CommandEnd } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Checks settings in a folder with these other files, which must be all that it has afterwards. */
async function check(settings: string, others: Readonly<Record<string, string>> = {}): Promise<CommandEnd> {
  const folder = await temporaryFolder()
  const files = { 'catalog.yaml': settings, ...others }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const end = await runCommand(['backend', '--config', join(folder, 'catalog.yaml'), '--check'])
  expect(await readdir(folder)).toEqual(Object.keys(files).toSorted())
  return end
}

const token = 'the-token-of-the-catalog\n'

it('settings that can be used are checked without a trace', async () => {
  const settings = [
    'data: { folder: tables }',
    'store: { postgres: { urlFile: url } }',
    'accessTokenFiles: [token, next-token]',
  ]
  const url = 'postgresql://catalog:secret@nowhere.invalid/catalog'
  expect(await check(settings.join('\n'), { url, token })).toMatchObject({
    status: 0,
    output: expect.stringContaining('can be used') as string,
    messages: '',
  })
})

it('names all mistakes in the settings with their places', async () => {
  const { status, output, messages } = await check('data: { floder: tables }\nlog:\n  level: loud\n')
  expect([status, output]).toEqual([1, ''])
  expect(messages).toMatch(/catalog\.yaml:1:9: data\.floder: unknown setting; did you mean "folder"/)
  expect(messages).toMatch(/catalog\.yaml:3:3: log\.level: /)
})

it('names all files that cannot be used', async () => {
  const settings = [
    'data: { folder: tables }',
    'store: { postgres: { urlFile: url } }',
    'accessTokenFiles: [token]',
    'outbound: { caFile: authorities.pem }',
  ].join('\n')
  const missing = await check(settings, { token: 'short', url: 'secret-of-another-kind' })
  expect(missing.status).toBe(1)
  for (const message of [
    /authorities\.pem/,
    /token: expected one token of 16 characters or more/,
    /expected postgresql:\/\/USER:PASSWORD@HOST:PORT\/DATABASE: .*url/,
  ])
    expect(missing.messages).toMatch(message)
  expect(missing.messages).not.toContain('another-kind')
  const root = 'postgresql://catalog:secret@host/catalog?sslrootcert=/nowhere/root.pem'
  expect((await check(settings, { token, url: root })).messages).toContain('/nowhere/root.pem')
})

it('settings that are missing are named', async () => {
  expect(await runCommand(['backend', '--check'])).toMatchObject({ status: 2 })
  const missing = await runCommand(['backend', '--config', '/nowhere/catalog.yaml', '--check'])
  expect(missing).toMatchObject({ status: 1 })
  expect(missing.messages).toContain('/nowhere/catalog.yaml does not exist')
})
