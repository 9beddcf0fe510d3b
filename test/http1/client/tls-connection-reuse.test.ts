import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { fixed } from '../../../src/lib/fs/follow-files.ts'
import { directOutbound } from '../../../src/outbound/outbound.ts'
import { createSocketOpener } from '../../../src/outbound/socket-opener.ts'
import { createHttp1Client } from '../../../src/http1/client/http1-client.ts'
import type { OutgoingRequest } from '../../../src/http1/client/outgoing-request.ts'
import { hasOpenssl, makeAuthority, type TestCertificate } from '../../identity/mtls/test-certificates.ts'
import { eventually } from '../../support/eventually.ts'
import { sharedFolder } from '../../support/temporary-folder.ts'

/**
 * An upstream in a thread, so that it can respond while the thread of the client is blocked. It counts connections and
 * responses in shared memory. Its first line has the target `/unread` if it leaves the rest of a request unread.
 */
const upstreamProgram = `
  const { createServer } = require('node:tls')
  const { parentPort, workerData: { cert, key, counts } } = require('node:worker_threads')
  const good = 'HTTP/1.1 200 OK\\r\\nkeep-alive: timeout=60\\r\\ncontent-length: 2\\r\\n\\r\\n{}'
  const server = createServer({ cert, key, noDelay: true }, (socket) => {
    Atomics.add(counts, 0, 1)
    let left = 0
    const respond = () => socket.write(good, () => {
      Atomics.add(counts, 1, 1)
      Atomics.notify(counts, 1)
    })
    socket.on('error', () => undefined).on('data', (bytes) => {
      if (left === 0) {
        const head = bytes.toString('latin1').split('\\r\\n\\r\\n')[0]
        left = head.length + 4 + Number(/content-length: (\\d+)/.exec(head)?.[1] ?? 0)
        if (head.includes(' /unread ')) {
          socket.pause()
          respond()
          return
        }
      }
      left -= bytes.length
      if (left === 0) respond()
    })
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

describe.skipIf(!hasOpenssl())('reuse of TLS connections (skipped without openssl)', () => {
  const folder = sharedFolder()
  let ca = ''
  let certificate: TestCertificate
  beforeAll(async () => {
    const authority = await makeAuthority(folder, 'own')
    ca = authority.cert
    certificate = await authority.issue('upstream', 'IP:127.0.0.1')
  })

  async function startUpstream() {
    const counts = new Int32Array(new SharedArrayBuffer(8))
    const { cert, key } = certificate
    const worker = new Worker(upstreamProgram, { eval: true, workerData: { cert, key, counts } })
    onTestFinished(async () => void (await worker.terminate()))
    const [port] = (await once(worker, 'message')) as [number]
    const timeoutMs = 60_000
    const client = createHttp1Client({
      url: new URL(`https://127.0.0.1:${port}`),
      opener: createSocketOpener(directOutbound, fixed({ ca })),
      timeouts: {
        connectTimeoutMs: timeoutMs,
        headersTimeoutMs: timeoutMs,
        bodyTimeoutMs: timeoutMs,
        totalTimeoutMs: timeoutMs,
      },
    })
    onTestFinished(() => client.close())

    /** With `blocks`, the thread does nothing else from the write until the upstream has responded. */
    const send = (request: Partial<OutgoingRequest>, blocks = false): Promise<void> =>
      new Promise((resolve, reject) => {
        client.dispatch(
          { method: 'POST', path: '/', headers: [], body: null, ...request },
          {
            onRequestStart() {
              const before = Atomics.load(counts, 1)
              if (blocks) queueMicrotask(() => Atomics.wait(counts, 1, before, 10_000))
            },
            onResponseStart: () => undefined,
            onResponseData: (_chunk, release) => release?.(),
            onResponseEnd: () => resolve(),
            onResponseError: reject,
          },
        )
      })
    return { client, send, connections: () => Atomics.load(counts, 0) }
  }

  it.each([
    ['no body', 0],
    ['a small body', 100],
    ['a body of several TLS records', 60_000],
  ])('reuses one that responds to %s before its write is complete', async (_what, bytes) => {
    const { send, connections } = await startUpstream()
    for (let count = 0; count < 20; count += 1) await send({ body: Buffer.alloc(bytes) }, true)
    expect(connections()).toBe(1)
  })

  it('opens no more than there are concurrent requests', async () => {
    const { send, connections } = await startUpstream()
    for (let count = 0; count < 500; count += 1) await send({ body: Buffer.alloc(count) })
    expect(connections()).toBe(1)
    const run = async (): Promise<void> => {
      for (let count = 0; count < 50; count += 1) await send({ body: Buffer.alloc(200) })
    }
    await Promise.all(Array.from({ length: 16 }, run))
    expect(connections()).toBeLessThanOrEqual(16)
  })

  it('closes one whose upstream has responded without reading the request', async () => {
    const { client, send, connections } = await startUpstream()
    const body = Buffer.alloc(16 * 1024 * 1024)
    await send({ path: '/unread', body })
    await send({})
    expect(connections()).toBe(2)
    await send({ path: '/unread', body })
    await eventually(() => expect(client.connectionCount()).toBe(0))
  })
})
