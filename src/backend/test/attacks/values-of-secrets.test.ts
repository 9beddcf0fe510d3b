import { randomBytes } from 'node:crypto'
import { open, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { secretsKey } from '../support/secrets-key.ts'
import { runningProcess } from '../support/running-process.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

/** Has no other form in a JSON text. */
const value = randomBytes(24).toString('hex')
const json = JSON.stringify({ value })

/** Sent in order: every operation, and requests that fail while the value is at hand. */
const requests: readonly (readonly [target: string, body?: string | undefined, method?: string])[] = [
  ['secret/token/create', json],
  ['secret/token/create', json],
  ['secret/token/alter', json],
  ['secret/absent/alter', json],
  ['secret/absent$token/create', json],
  ['secret/token/create', json.slice(0, -1)],
  ['secret/token/create', JSON.stringify({ value: [value] })],
  ['secret/token/create', JSON.stringify({ value: { [value]: value } })],
  ['secret/token/create', JSON.stringify({ value, id: [value] })],
  ['secret/token/describe'],
  ['function/f/create', JSON.stringify({ artifact: {}, signature: {}, secret_bindings: [binding('token')] })],
  ['function/f/describe', JSON.stringify({ version: '1' })],
  ['namespace/$/secret/list', undefined, 'GET'],
  ['namespace/$/function/list?include_definition=true', undefined, 'GET'],
  ['jobs/list', '{}'],
]

function binding(name: string) {
  return { kind: 'env', variable: 'TOKEN', secret_ref: { name } }
}

async function readAll(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return new Map(
    await Promise.all(files.map(async (file) => [file, await readFile(file, 'latin1')] as const)),
  )
}

it('no value of a secret gets into a response, the log, or a file', async () => {
  const folder = await temporaryFolder()
  const logFolder = await temporaryFolder()
  const log = await open(join(logFolder, 'log'), 'w')
  const { url, kill } = await runningProcess(folder, 'debug', await secretsKey(), {}, log.createWriteStream())
  const send = async ([target, body, method = 'POST']: (typeof requests)[number]) => {
    const response = await fetch(`${url}/v1/${target}`, { method, ...(body !== undefined && { body }) })
    return { status: response.status, text: await response.text() }
  }
  const responses: { status: number; text: string }[] = []
  for (const request of requests) responses.push(await send(request))
  expect(responses.map(({ status }) => status)).toEqual([
    200, 409, 200, 404, 404, 400, 400, 400, 400, 200, 202, 200, 200, 200, 200,
  ])
  const read = [...(await readAll(folder)), ...(await readAll(logFolder))]
  await kill()
  await log.close()
  const afterwards = [...(await readAll(folder)), ...(await readAll(logFolder))]
  // Other texts of the requests are in the files that were read.
  expect(read.some(([, text]) => text.includes('"variable":"TOKEN"'))).toBe(true)
  const texts = [...responses.map(({ text }) => text), ...[...read, ...afterwards].map(([, text]) => text)]
  const forms = [
    value,
    ...(['base64', 'hex'] as const).map((form) => Buffer.from(value).toString(form).slice(0, 40)),
  ]
  for (const text of texts) for (const form of forms) expect(text.includes(form)).toBe(false)
})
