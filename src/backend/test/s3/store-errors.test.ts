import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, inject, onTestFinished, it } from 'vitest'
import { directOutbound } from '../../../outbound/outbound.ts'
import { dataSchema } from '../../settings/backend-settings.ts'
import { openStorage } from '../../storage/open-storage.ts'
import { backendSettings } from '../support/backend-settings.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { errorOf, runningBackend } from '../support/running-backend.ts'
import { credentials } from './credentials.ts'
import { freshBucket } from './object-store.ts'
import { freePort } from '../../../../test/support/free-port.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

/** Starts a proxy to the store whose connections can be cut and restored. */
async function interruptibleStore() {
  const target = new URL(inject('s3Endpoint'))
  const sockets = new Set<{ destroy: () => void }>()
  const proxy = createServer((socket) => {
    const onward = connect(Number(target.port), target.hostname)
    for (const one of [socket, onward]) {
      sockets.add(one)
      one.on('error', () => {}).on('close', () => sockets.delete(one))
    }
    socket.pipe(onward).pipe(socket)
  })
  // A port that nobody gets while the store is interrupted.
  const port = await freePort()
  const endpoint = await listening(proxy, port)
  const interrupt = async () => {
    proxy.close()
    for (const socket of sockets) socket.destroy()
    return () => once(proxy.listen(port, '127.0.0.1'), 'listening')
  }
  return { endpoint, interrupt }
}

async function listening(server: Server, port = 0): Promise<string> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('fails to start with wrong credentials, with the reason but not the secret', async () => {
  const { settings, folder } = await freshBucket()
  const program = fileURLToPath(new URL('../support/catalog-process.ts', import.meta.url))
  const stated = JSON.stringify(backendSettings(folder, settings))
  const environment = { ...process.env, AWS_SECRET_ACCESS_KEY: 'another-secret-than-it-is' }
  const child = spawn(process.execPath, ['--import', 'tsx', program, stated], { env: environment })
  const [output] = await Promise.all([text(child.stderr), text(child.stdout), once(child, 'exit')])
  expect(child.exitCode).toBe(1)
  expect(output).toMatch(/the object store at s3:\S+ cannot be used/)
  expect(output).toContain('SignatureDoesNotMatch')
  expect(output).not.toContain('another-secret')
  expect(output).not.toContain(credentials.AWS_SECRET_ACCESS_KEY)
})

it('fails to start with a missing bucket or server', async () => {
  const folder = await temporaryFolder()
  const open = (location: string, endpoint: string) =>
    runningBackend({ data: { s3: { location, endpoint } }, store: { folder } }, folder)
  await expect(open('s3://no-such-bucket/x', inject('s3Endpoint'))).rejects.toMatchObject({
    cause: { message: expect.stringContaining('NoSuchBucket') },
  })
  await expect(open('s3://bucket/x', 'http://127.0.0.1:1')).rejects.toMatchObject({
    cause: { message: expect.stringContaining('ECONNREFUSED') },
  })
})

it('rejects a store that ignores conditional writes', async () => {
  const responsesAll = createHttpServer((request, response) => {
    request.resume()
    response.writeHead(200, { etag: '"x"' }).end()
  })
  const endpoint = await listening(responsesAll)
  const settings = dataSchema.parse({ s3: { location: 's3://bucket/x', endpoint } })
  await expect(openStorage(settings, directOutbound)).rejects.toMatchObject({
    cause: { message: expect.stringContaining('If-None-Match') },
  })
})

it('responds with 503 while the store is unreachable, and recovers', async () => {
  const { endpoint, interrupt } = await interruptibleStore()
  const { settings, folder } = await freshBucket(endpoint)
  const { post, get } = await runningBackend(settings, folder)
  await post('/v1/table/t/create', streamOf(orders(3)))

  const mend = await interrupt()
  expect(await post('/v1/table/t/version/list', {})).toEqual(errorOf('ServiceUnavailable'))
  expect(await get('/v1/table/t/count_rows')).toEqual(errorOf('ServiceUnavailable'))
  expect(await post('/v1/table/t/insert', streamOf(orders(1)))).toEqual(errorOf('ServiceUnavailable'))
  expect(await post('/v1/table/t/drop')).toMatchObject({ status: 200 })

  await mend()
  expect((await post('/v1/table/u/create', streamOf(orders(3)))).status).toBe(200)
  expect((await get('/v1/table/u/count_rows')).json).toBe(3)
}, 300_000)
