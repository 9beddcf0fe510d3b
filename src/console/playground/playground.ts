import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { runInSlices, type Steps } from '../../lib/index.ts'
import {
  listPolicyFiles,
  namePolicyFolders,
  type PolicyDocument,
  type VocabularyOptions,
} from '../../policy/index.ts'

export interface PlaygroundSource {
  readonly auditFolder: string
  readonly policyFolders: readonly string[]
  readonly vocabulary: VocabularyOptions
}

const maxTextBytes = 256 * 1024
const maxBodyBytes = 2 * maxTextBytes
const timeoutMs = 15_000
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 }
/** Posting all documents at once would stall the event loop. */
const documentsInMessage = 50

const requestSchema = z.strictObject({
  /** A policy file. */
  text: z.string().refine((text) => Buffer.byteLength(text) <= maxTextBytes),
  /** The file in force that it replaces; undefined for a further one. */
  file: z.string().max(4096).optional(),
  /** May this caller do that? An empty principal is a caller without a credential. */
  question: z
    .strictObject({
      principal: z.string().max(2048),
      groups: z.array(z.string().max(2048)).max(100),
      operation: z.string().max(200),
      id: z.string().max(4096),
    })
    .optional(),
})

/** A text to try, as its thread receives it after all documents in force. */
export type PlaygroundRun = z.output<typeof requestSchema> &
  Pick<PlaygroundSource, 'auditFolder' | 'vocabulary'>

/**
 * Adds the routes that try a policy text beside the policies in force, and that read the policy files in force. Nothing
 * that they do has an effect. One text is tried at a time, in a thread with limits of time and memory.
 */
export function addPlayground(
  server: FastifyInstance,
  route: string,
  documents: () => readonly PolicyDocument[],
  { auditFolder, policyFolders, vocabulary }: PlaygroundSource,
): void {
  let isRunning = false

  async function listFiles(): Promise<ReadonlyMap<string, string>> {
    const inForce = new Set(documents().map(({ file }) => file))
    const files = await Promise.all(namePolicyFolders(policyFolders).map(listPolicyFiles))
    return new Map(
      files.flat().flatMap(({ name, path }) => (inForce.has(name) ? [[name, path] as const] : [])),
    )
  }

  server.get(`${route}/policy-files`, async () => ({ files: [...(await listFiles()).keys()] }))

  server.get<{ readonly Querystring: Readonly<Record<string, unknown>> }>(
    `${route}/policy-file`,
    async ({ query }, reply) => {
      const path = typeof query['file'] === 'string' ? (await listFiles()).get(query['file']) : undefined
      if (path === undefined) return reply.code(404).send({ error: 'no policy file in force has this name' })
      const bytes = await readFile(path)
      if (bytes.length > maxTextBytes)
        return reply.code(400).send({ error: `the file has more than ${maxTextBytes} bytes` })
      return { text: String(bytes) }
    },
  )

  server.post(`${route}/playground`, { bodyLimit: maxBodyBytes }, async ({ body }, reply) => {
    const { data } = requestSchema.safeParse(body)
    if (data === undefined)
      return reply.code(400).send({ error: `expected a policy text of at most ${maxTextBytes} bytes` })
    if (isRunning)
      return reply.code(400).send({ error: 'another text is being tried; try again in a moment' })
    isRunning = true
    try {
      const report = await runInThread({ ...data, auditFolder, vocabulary }, documents())
      return await reply.code('error' in report ? 400 : 200).send(report)
    } finally {
      isRunning = false
    }
  })
}

/** Resolves with the report of playground-report.ts, or `error`. */
async function runInThread(run: PlaygroundRun, inForce: readonly PolicyDocument[]): Promise<object> {
  const thread = startThread()
  const ended = new AbortController()
  thread.once('exit', () => ended.abort())
  // `exit` follows.
  thread.on('error', () => undefined)
  const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(timeoutMs)])
  try {
    await runInSlices(postDocuments(thread, inForce))
    const response = once(thread, 'message', { signal })
    thread.postMessage(run)
    const [report]: object[] = await response
    return report ?? {}
  } catch (error) {
    if (!signal.aborted) throw error
    const limits = `${timeoutMs / 1000} seconds or ${resourceLimits.maxOldGenerationSizeMb} MiB`
    return { error: `the text was not tried: it needs more than ${limits}, or the audit log cannot be read` }
  } finally {
    await thread.terminate()
  }
}

function* postDocuments(thread: Worker, inForce: readonly PolicyDocument[]): Steps<void> {
  for (let first = 0; first < inForce.length; first += documentsInMessage) {
    thread.postMessage(inForce.slice(first, first + documentsInMessage))
    yield
  }
}

/** Starts playground-thread.ts: a thread that does not keep the process alive. */
function startThread(): Worker {
  const extension = extname(import.meta.url)
  const program = new URL(`playground-thread${extension}`, import.meta.url)
  const thread =
    extension === '.ts'
      ? new Worker(runSource, { eval: true, workerData: program.href, resourceLimits })
      : new Worker(program, { execArgv: [], resourceLimits })
  thread.unref()
  return thread
}

/** Runs the TypeScript source, for tests: a thread does not inherit the module loader of the process. */
const runSource = `require('tsx/cjs/api').register()
require(require('node:url').fileURLToPath(require('node:worker_threads').workerData))`
