import { once } from 'node:events'
import { connect, createServer as createPlainServer, type AddressInfo, type Socket } from 'node:net'
import { createServer, type TlsOptions } from 'node:tls'
import { onTestFinished } from 'vitest'
import { mechanisms, saslServer, type SaslUser } from './sasl-server.ts'

const keys = { produce: 0, metadata: 3, saslHandshake: 17, apiVersions: 18, saslAuthenticate: 36 }

export interface KafkaFront {
  readonly address: string
  readonly logins: { readonly mechanism: string; readonly isGood: boolean }[]
  readonly connections: () => number
  /** Forwards no response of the broker until the promise is fulfilled. */
  readonly holdResponses: (until: Promise<unknown>) => void
}

/**
 * Adds TLS and SASL to a broker without them, such as the mock cluster of librdkafka. Forwards everything else
 * unchanged, except the port of the broker, which is replaced by this one. Without a user there is no SASL; with one,
 * nothing is forwarded before the login. Messages with the text `refused` get that error code, as from a broker that does
 * not accept them.
 */
export async function startKafkaFront(
  broker: string,
  tls: TlsOptions | undefined,
  user?: SaslUser,
  refusal?: { readonly text: string; readonly code: number },
): Promise<KafkaFront> {
  const brokerPort = Number(broker.split(':')[1])
  const logins: { mechanism: string; isGood: boolean }[] = []
  const sockets = new Set<Socket>()
  const clients = new Set<Socket>()
  let held: Promise<unknown> = Promise.resolve()
  const accept = (client: Socket): void => {
    const upstream = connect(brokerPort, '127.0.0.1')
    clients.add(client.on('close', () => clients.delete(client)))
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined).on('close', () => (client.destroy(), upstream.destroy()))
    }
    const requested = new Map<number, number>()
    let isIn = user === undefined
    let login: ReturnType<typeof saslServer> | undefined
    let mechanism = ''
    onFrames(client, (frame) => {
      const [key, correlation] = [frame.readInt16BE(0), frame.readInt32BE(4)]
      const body = frame.subarray(10 + Math.max(0, frame.readInt16BE(8)))
      requested.set(correlation, key)
      const response = (...parts: Buffer[]): void =>
        send(client, Buffer.concat([int32(correlation), ...parts]))
      if (user !== undefined && key === keys.saslHandshake) {
        mechanism = body.toString('utf8', 2)
        login = saslServer(mechanism, user)
        response(int16(login === undefined ? 33 : 0), int32(mechanisms.length), ...mechanisms.map(text))
      } else if (login !== undefined && key === keys.saslAuthenticate) {
        const result = login(body.subarray(4))
        if (result.isGood !== undefined) logins.push({ mechanism, isGood: result.isGood })
        isIn = result.isGood === true
        const lifetime = frame.readInt16BE(2) > 0 ? Buffer.alloc(8) : Buffer.alloc(0)
        const error = result.isGood === false ? [int16(58), text('no')] : [int16(0), int16(-1)]
        response(...error, int32(result.response.length), result.response, lifetime)
      } else if (refusal !== undefined && key === keys.produce && frame.includes(refusal.text)) {
        response(refuseMessages(body, frame.readInt16BE(2), refusal.code))
      } else if (isIn || key === keys.apiVersions) send(upstream, frame)
      else client.destroy()
    })
    onFrames(upstream, (frame) => {
      const key = requested.get(frame.readInt32BE(0))
      void held.then(() => {
        if (key === keys.metadata) send(client, withPort(frame, brokerPort, portOf(server)))
        else send(client, key === keys.apiVersions && user !== undefined ? withSasl(frame) : frame)
      })
    })
  }
  const server = tls === undefined ? createPlainServer(accept) : createServer(tls, accept)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    address: `127.0.0.1:${portOf(server)}`,
    logins,
    connections: () => clients.size,
    holdResponses(until) {
      held = until
    },
  }
}

function portOf(server: { address(): unknown }): number {
  return (server.address() as AddressInfo).port
}

/** Messages are prefixed with their length. */
function onFrames(socket: Socket, take: (frame: Buffer) => void): void {
  let rest = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
      const end = 4 + rest.readInt32BE(0)
      take(rest.subarray(4, end))
      rest = rest.subarray(end)
    }
  })
}

function send(socket: Socket, frame: Buffer): void {
  socket.write(Buffer.concat([int32(frame.length), frame]))
}

/** Replaces the port of each broker of the mock cluster. */
function withPort(frame: Buffer, from: number, to: number): Buffer {
  const changed = Buffer.from(frame)
  const reported = Buffer.concat([text('127.0.0.1'), int32(from)])
  for (let at = changed.indexOf(reported); at !== -1; at = changed.indexOf(reported, at + 1)) {
    changed.writeInt32BE(to, at + reported.length - 4)
  }
  return changed
}

/** Adds SASL to the list of supported APIs, which follows correlation id and error. */
function withSasl(frame: Buffer): Buffer {
  const added = [keys.saslHandshake, keys.saslAuthenticate].map((key) => [int16(key), int16(0), int16(1)])
  return Buffer.concat([
    frame.subarray(0, 6),
    int32(frame.readInt32BE(6) + added.length),
    ...added.flat(),
    frame.subarray(10),
  ])
}

/** The response to a ProduceRequest of version 3 to 7: the error for each of its partitions. */
function refuseMessages(request: Buffer, version: number, code: number): Buffer {
  // After the transactional id, which is null, the acks and the timeout.
  let at = 8
  const readInt32 = (): number => request.readInt32BE((at += 4) - 4)
  const topics = readInt32()
  const parts = [int32(topics)]
  for (let topic = 0; topic < topics; topic += 1) {
    const name = request.subarray(at, (at += 2 + request.readInt16BE(at)))
    const partitions = readInt32()
    parts.push(name, int32(partitions))
    for (let partition = 0; partition < partitions; partition += 1) {
      parts.push(int32(readInt32()), int16(code), Buffer.alloc(version >= 5 ? 24 : 16, 0xff))
      at += readInt32()
    }
  }
  return Buffer.concat([...parts, int32(0)])
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function text(value: string): Buffer {
  return Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)])
}
