import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { cp, readFile, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { idsOf, rows } from '../conformance/sample-rows.ts'
import { projectFolder, startNode, startProgram } from '../e2e/built-program.ts'
import { hasOpenssl } from '../identity/mtls/test-certificates.ts'
import { createPackedApplication } from '../package/packed-application.ts'
import { makeTemporaryFolder, removeFolder } from '../support/temporary-folder.ts'

const example = join(projectFolder, 'examples', 'embed')
const catalogFolder = await makeTemporaryFolder()
const folder = await createPackedApplication({})
await cp(example, folder, { recursive: true })

const catalogFile = join(catalogFolder, 'catalog.yaml')
await writeFile(catalogFile, 'listen: { port: 0 }\ndata: { folder: data }\nlog: { level: error }\n')
const catalog = startProgram(['backend', '--config', catalogFile])
afterAll(async () => {
  catalog.signal('SIGTERM')
  await catalog.ended
  await Promise.all([catalogFolder, folder].map(removeFolder))
})
const environment = { CATALOG_URL: await catalog.announced(/^listening on (http:\S+)$/m), PORT: '0' }

if (hasOpenssl()) {
  const [makeCertificate = ''] =
    /^openssl .*$/m.exec(await readFile(join(example, 'README.md'), 'utf8')) ?? []
  await promisify(execFile)('bash', ['-c', makeCertificate], { cwd: folder })
}

const authenticated = { 'x-session': 'ada-1' }
const json = { ...authenticated, 'content-type': 'application/json' }
const arrow = { ...authenticated, 'content-type': 'application/vnd.apache.arrow.stream' }

for (const major of [20, 22, 24, 26]) {
  const node = hasOpenssl() ? await findNode(major) : undefined
  describe.skipIf(node === undefined)(`examples/embed on Node ${major}`, () => {
    it('creates, fills and queries a table', async () => {
      const application = startNode(['application.js'], { folder, environment, node })
      const url = await application.announced(/^listening on (https:\S+)$/m)
      const table = `${url}/catalog/v1/table/node-${major}`

      expect((await post(`${table}/create`, arrow, rows(2))).status).toBe(200)
      expect((await post(`${table}/insert`, arrow, rows(3, 2))).status).toBe(200)
      const query = { vector: [], k: 10, columns: { column_names: ['id'] } }
      const found = await post(`${table}/query`, json, JSON.stringify(query))
      expect(idsOf(found.body)).toEqual([0, 1, 2, 3, 4])

      const { 'x-session': _session, ...unauthenticated } = arrow
      expect((await post(`${table}/insert`, unauthenticated, rows(1))).status).toBe(401)
      expect((await post(`${table}/drop`, json, '{}')).status).toBe(403)

      application.signal('SIGTERM')
      expect((await application.ended).status).toBe(0)
    })
  })
}

/** Sends a POST on a connection of its own, without verifying the certificate. */
async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array | string,
): Promise<{ readonly status: number | undefined; readonly body: Buffer }> {
  const sent = request(url, { method: 'POST', headers, agent: false, rejectUnauthorized: false })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode, body: await buffer(response) }
}

/** Returns the executable of the newest Node of that major version, which npm carries; undefined if it cannot be had. */
async function findNode(major: number): Promise<string | undefined> {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath
  const fromPackage = `--package=node@${major}`
  const describe = 'process.version + " " + process.execPath'
  const words = ['--yes', '--prefer-offline', fromPackage, 'node', '--print', describe]
  try {
    const { stdout } = await promisify(execFile)('npx', words, { timeout: 120_000 })
    return new RegExp(`^v${major}\\.\\S+ (.+)$`, 'm').exec(stdout)?.[1]
  } catch {
    return undefined
  }
}
