import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { HostileInput } from './hostile-input.ts'
import { parseResponses, type RawResponse } from './raw-responses.ts'

/** The result of one input. */
export interface Outcome {
  readonly responses: readonly RawResponse[]
  /** A protocol violation: a malformed response, a missing response, a hanging connection. */
  readonly error: string | undefined
}

export interface AttackOptions {
  readonly url: string
  /** Connections in use at a time. */
  readonly connections: number
  readonly createInput: (index: number) => HostileInput
  readonly count: number
  /** A valid request that gets 200 unless an earlier input has desynchronized the connection. */
  readonly probe: Buffer
  readonly onOutcome: (index: number, outcome: Outcome) => void
}

/** The gateway must respond or close the connection within this time. */
const timeoutMs = 20_000
/** Without bytes for this long, the client half-closes an ambiguous input. */
const quietMs = 250
/** One in this many reusable connections is probed. */
const probeInterval = 8

/** Sends all inputs. Reuses each connection until the gateway closes it. */
export async function attack(options: AttackOptions): Promise<void> {
  let next = 0
  const sendInputs = async (): Promise<void> => {
    let client: Client | undefined
    while (next < options.count) {
      const index = next
      next += 1
      client ??= await openClient(options.url)
      const outcome = await client.send(options.createInput(index))
      if (client.isReusable() && index % probeInterval === 0)
        options.onOutcome(index, await sendProbe(client, options.probe, outcome))
      else options.onOutcome(index, outcome)
      if (!client.isReusable()) {
        client.close()
        client = undefined
      }
    }
    client?.close()
  }
  await Promise.all(Array.from({ length: options.connections }, sendInputs))
}

/** Returns the outcome, with an error if the response to the probe is not 200. */
async function sendProbe(client: Client, probe: Buffer, outcome: Outcome): Promise<Outcome> {
  const { responses, error } = await client.send({
    chunks: [probe],
    methods: ['POST'],
    completeness: 'complete',
  })
  const isValid = error === undefined && responses.length === 1 && responses[0]?.status === 200
  return isValid
    ? outcome
    : {
        ...outcome,
        error:
          outcome.error ??
          `a valid request after it gets ${responses[0]?.status} ${responses[0]?.body.toString() ?? error}`,
      }
}

interface Client {
  send(input: HostileInput): Promise<Outcome>
  /** Whether the gateway accepts another request on this connection. */
  isReusable(): boolean
  close(): void
}

async function openClient(url: string): Promise<Client> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  let isReusable = true
  return {
    isReusable: () => isReusable,
    close: () => void socket.destroy(),
    async send(input) {
      isReusable = false
      const received = receive(socket, input)
      for (const chunk of input.chunks) {
        socket.write(chunk)
        if (input.chunks.length > 1) await new Promise(setImmediate)
      }
      if (input.completeness === 'truncated') {
        socket.destroy()
        return { responses: [], error: undefined }
      }
      const outcome = await received
      isReusable = outcome.isReusable
      return outcome
    },
  }
}

/** Reads one response per request, or until the connection is closed. */
function receive(
  socket: Socket,
  { methods, completeness }: HostileInput,
): Promise<Outcome & { readonly isReusable: boolean }> {
  const isComplete = completeness === 'complete'
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0)
    let responses: readonly RawResponse[] = []
    let isClosed = false
    const finish = (error?: string): void => {
      clearTimeout(timer)
      clearTimeout(quiet)
      socket.off('data', onData).off('close', onClose)
      const isReusable =
        !isClosed &&
        isComplete &&
        error === undefined &&
        !responses.some((response) => response.header('connection') === 'close')
      resolve({ responses, error, isReusable })
    }
    const onData = (chunk: Buffer): void => {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
      quiet?.refresh()
      try {
        const parsed = parseResponses(bytes, methods)
        responses = parsed.responses
        if (isComplete && responses.length === methods.length && parsed.length === bytes.length) finish()
        else if (isComplete && responses.length > methods.length) finish('more responses than requests')
      } catch (error) {
        finish(String(error))
      }
    }
    const onClose = (): void => {
      isClosed = true
      finish(
        isComplete && responses.length === 0
          ? `closed without a response after ${JSON.stringify(bytes.toString('latin1'))}`
          : undefined,
      )
    }
    const timer = setTimeout(() => {
      socket.destroy()
      finish(`no response and no close after ${timeoutMs} ms: ${JSON.stringify(bytes.toString('latin1'))}`)
    }, timeoutMs)
    const quiet = completeness === 'ambiguous' ? setTimeout(() => socket.end(), quietMs) : undefined
    socket.on('data', onData).once('close', onClose)
  })
}
