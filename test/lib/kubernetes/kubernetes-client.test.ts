import { rm, writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { createKubernetesClient } from '../../../src/kubernetes/kubernetes-client.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/free-port.ts'
import { sendJson, sendStatus, startScriptedApiServer, type Script } from './scripted-api-server.ts'

async function failWith(script: Script): Promise<unknown> {
  const { client } = await startScriptedApiServer(script)
  return client.get('/api').catch((error: unknown) => error)
}

it.each<[what: string, script: Script, status: number | undefined, message: string | RegExp]>([
  [
    'a status and a message, in one line',
    sendStatus(403, 'things is forbidden:\n\u001B[31mno'),
    403,
    'the API server returned status 403: things is forbidden: [31mno',
  ],
  ['a long message, cut', sendStatus(500, 'x'.repeat(10_000)), 500, /^.{50,600}$/],
  [
    'the status of a proxy that sends no Status object',
    (_, response) => response.writeHead(502).end('<html>bad gateway</html>'),
    502,
    'the API server returned status 502',
  ],
  // It would receive the token.
  [
    'a redirect, which is not followed',
    (_, response) => response.writeHead(307, { location: '/elsewhere' }).end(),
    307,
    /307/,
  ],
  [
    'a response that is not JSON',
    (_, response) => response.end('{"items":['),
    undefined,
    'the API server sent invalid JSON',
  ],
  [
    'an incomplete response',
    (_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"items":')
      setTimeout(() => response.destroy(), 20)
    },
    undefined,
    /./,
  ],
])('reports %s', async (_what, script, status, message) => {
  const said = typeof message === 'string' ? message : expect.stringMatching(message)
  expect(await failWith(script)).toMatchObject({ status, message: said })
})

it('reads at most 16 MiB', async () => {
  const chunk = Buffer.alloc(1024 * 1024, 0x20)
  let sent = 0
  const error = await failWith((_, response) => {
    const send = (): void => {
      while (sent < 1024 && !response.destroyed) {
        sent += 1
        if (!response.write(chunk)) {
          response.once('drain', send)
          return
        }
      }
    }
    send()
  })
  expect(error).toMatchObject({ status: 413 })
  expect(sent).toBeLessThan(64)
})

it('reports an API server that cannot be reached', async () => {
  const { client, tokenFile } = await startScriptedApiServer(() => undefined)
  await client.close()
  const apiServer = `http://127.0.0.1:${await freePort()}`
  const unreachable = createKubernetesClient({ apiServer, caFile: 'unused', tokenFile })
  await expect(unreachable.get('/api')).rejects.toMatchObject({
    status: undefined,
    message: expect.stringContaining('ECONNREFUSED'),
  })
  await unreachable.close()
})

it('rejects requests in progress when it is closed', async () => {
  const { client, requests } = await startScriptedApiServer(() => undefined)
  const request = client.get('/api').catch((error: unknown) => error)
  await eventually(() => expect(requests).toHaveLength(1))
  await client.close()
  expect(await request).toMatchObject({ status: undefined })
})

it('sends the present content of the token file', async () => {
  const { client, tokenFile, requests } = await startScriptedApiServer(sendJson({}))
  await client.get('/api')
  await writeFile(tokenFile, 'second-token')
  await client.get('/api')
  expect(requests.map(({ authorization }) => authorization)).toEqual([
    'Bearer first-token',
    'Bearer second-token',
  ])
})

it('sends nothing without a token, and does not report its path', async () => {
  const { client, tokenFile, requests } = await startScriptedApiServer(sendJson({}))
  await rm(tokenFile)
  await expect(client.get('/api')).rejects.toMatchObject({
    message: 'the token for the API server cannot be read',
  })
  expect(requests).toEqual([])
})
