import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { HostileCall } from './hostile-exchanges.ts'
import { readResponses, type RawResponse } from './raw-answers.ts'

/** What came back for one exchange. */
export interface Outcome {
  readonly answers: readonly RawResponse[]
  /** What must not be: half an answer, a connection that hangs, no answer at all. */
  readonly fault: string | undefined
}

/** What an attack is made of. */
export interface Attack {
  readonly url: string
  readonly connections: number
  /** The exchange of that number. */
  readonly exchange: (number: number) => HostileCall
  readonly count: number
  /** A request that is good, and how it should be answered; it shows that the connection is sane. */
  readonly probe: Buffer
  readonly ended: (number: number, outcome: Outcome) => void
}

/** A gateway has so long to answer or to close. */
const timeoutMs = 20_000
/** After so long without a byte nobody expects more of what may be half a request. */
const quietMs = 250
/** A probe after so many exchanges on connections that the gateway has kept. */
const probedEvery = 8

/** Sends all exchanges over so many connections at a time, each over one that was kept, where there is one. */
export async function attack(stated: Attack): Promise<void> {
  let next = 0
  const work = async (): Promise<void> => {
    let client: Client | undefined
    while (next < stated.count) {
      const number = next
      next += 1
      client ??= await openClient(stated.url)
      const outcome = await client.send(stated.exchange(number))
      if (client.isKept() && number % probedEvery === 0)
        stated.ended(number, await probed(client, stated.probe, outcome))
      else stated.ended(number, outcome)
      if (!client.isKept()) client = client.leave()
    }
    client?.leave()
  }
  await Promise.all(Array.from({ length: stated.connections }, work))
}

async function probed(client: Client, probe: Buffer, outcome: Outcome): Promise<Outcome> {
  const { answers: responses, fault: error } = await client.send({
    parts: [probe],
    methods: ['POST'],
    ending: 'answered',
  })
  const isGood = error === undefined && responses.length === 1 && responses[0]?.status === 200
  return isGood
    ? outcome
    : {
        ...outcome,
        fault:
          outcome.fault ??
          `a good request behind it is answered ${responses[0]?.status} ${responses[0]?.body.toString() ?? error}`,
      }
}

interface Client {
  send(call: HostileCall): Promise<Outcome>
  /** Whether the gateway lets the next request come over the same connection. */
  isKept(): boolean
  leave(): undefined
}

async function openClient(url: string): Promise<Client> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  let isRetained = true
  return {
    isKept: () => isRetained,
    leave: () => void socket.destroy(),
    async send(call) {
      isRetained = false
      const received = receive(socket, call)
      for (const part of call.parts) {
        socket.write(part)
        if (call.parts.length > 1) await new Promise(setImmediate)
      }
      if (call.ending === 'broken-off') {
        socket.destroy()
        return { answers: [], fault: undefined }
      }
      const outcome = await received
      isRetained = outcome.isKept
      return outcome
    },
  }
}

/** Reads until there are as many answers as requests, or the connection ends. */
function receive(
  socket: Socket,
  { methods, ending }: HostileCall,
): Promise<Outcome & { readonly isKept: boolean }> {
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0)
    let responses: readonly RawResponse[] = []
    let isClosed = false
    const settle = (error?: string): void => {
      clearTimeout(timer)
      clearTimeout(quiet)
      socket.off('data', take).off('close', closed)
      const isRetained =
        !isClosed &&
        ending === 'answered' &&
        error === undefined &&
        !responses.some((response) => response.header('connection') === 'close')
      resolve({ answers: responses, fault: error, isKept: isRetained })
    }
    const take = (chunk: Buffer): void => {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
      quiet?.refresh()
      try {
        const read = readResponses(bytes, methods)
        responses = read.answers
        if (ending === 'answered' && responses.length === methods.length && read.length === bytes.length)
          settle()
        else if (responses.length > methods.length && ending === 'answered')
          settle('there are more answers than requests')
      } catch (error) {
        settle(String(error))
      }
    }
    const closed = (): void => {
      isClosed = true
      settle(
        ending === 'answered' && responses.length === 0
          ? `closed without an answer after ${JSON.stringify(bytes.toString('latin1'))}`
          : undefined,
      )
    }
    const timer = setTimeout(() => {
      socket.destroy()
      settle(`neither answered nor closed after ${timeoutMs} ms: ${JSON.stringify(bytes.toString('latin1'))}`)
    }, timeoutMs)
    const quiet = ending === 'uncertain' ? setTimeout(() => socket.end(), quietMs) : undefined
    socket.on('data', take).once('close', closed)
  })
}
