import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import {
  listPolicyFiles,
  namePolicyFolders,
  type PolicyDocument,
  type VocabularyOptions,
} from '../../policy/index.ts'
import { createThreadRunner } from '../thread/run-in-thread.ts'
import { maxQuestions, maxTextBytes, trialSchema } from './trial.ts'

export interface PlaygroundSource {
  readonly policyFolders: readonly string[]
  readonly vocabulary: VocabularyOptions
}

const maxBodyBytes = 2 * maxTextBytes

/**
 * Adds the routes that try a policy text beside the policies in force, and that read the policy files in force. Nothing
 * that they do has an effect.
 */
export function addPlayground(
  server: FastifyInstance,
  route: string,
  documents: () => readonly PolicyDocument[],
  { policyFolders, vocabulary }: PlaygroundSource,
): void {
  const runInThread = createThreadRunner()

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
    const { data } = trialSchema.safeParse(body)
    if (data === undefined)
      return reply.code(400).send({
        error: `expected a policy text of at most ${maxTextBytes} bytes, and at most ${maxQuestions} questions`,
      })
    const report = await runInThread({ trial: data, vocabulary }, documents())
    return reply.code('error' in report ? 400 : 200).send(report)
  })
}
