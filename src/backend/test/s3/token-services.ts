import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { S3Client } from '@aws-sdk/client-s3'
import { inject, onTestFinished } from 'vitest'
import { getGlobalDispatcher } from 'undici'
import { assumeRole } from '../../storage/vending.ts'
import { freePort } from '../../../../test/support/free-port.ts'

/** Starts a token service that ignores the session policy: its credentials have all rights of the role. */
export async function carelessService(): Promise<string> {
  const client = new S3Client({ endpoint: inject('s3Endpoint') })
  const policy = JSON.stringify({
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: 'arn:aws:s3:::*' }],
  })
  const server = createHttpServer((request, response) => {
    request.resume()
    const assumed = {
      role: inject('s3Role'),
      policy,
      sessionName: 'careless',
      seconds: 900,
      dispatcher: getGlobalDispatcher(),
    }
    void assumeRole(client, { ...assumed, endpoint: inject('s3Endpoint'), region: 'us-east-1' }).then(
      ({ accessKeyId, secretAccessKey, sessionToken, expiresAtMillis }) => {
        const expiration = new Date(expiresAtMillis).toISOString()
        response.end(
          `<C><AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey>` +
            `<SessionToken>${sessionToken}</SessionToken><Expiration>${expiration}</Expiration></C>`,
        )
      },
      () => response.writeHead(500).end(),
    )
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    client.destroy()
  })
  return await listening(server)
}

/** Starts a proxy to the store and token service of the tests whose connection can be cut and restored. */
export async function interruptibleService() {
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
  const cut = () => {
    proxy.close()
    for (const socket of sockets) socket.destroy()
  }
  onTestFinished(cut)
  // A port that nobody gets while the service is interrupted.
  const port = await freePort()
  const endpoint = await listening(proxy, port)
  return {
    endpoint,
    interrupt: async () => {
      cut()
      return async () => {
        proxy.listen(port, '127.0.0.1')
        await once(proxy, 'listening')
      }
    },
  }
}

async function listening(server: Server, port = 0): Promise<string> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
