import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { PolicyDocument } from '../../policy/language/policy-document.ts'
import type { VocabularyOptions } from '../../policy/language/policy-vocabulary.ts'
import { listPolicyFiles, namePolicyFolders } from '../../policy/source/policy-folder.ts'
import { createPlayground, PlaygroundError } from './playground.ts'

export interface PlaygroundSource {
  readonly auditFolder: string
  readonly policyFolders: readonly string[]
  readonly vocabulary: VocabularyOptions
}

const maxTextBytes = 256 * 1024
const maxBodyBytes = 2 * maxTextBytes

const requestSchema = z.strictObject({
  text: z.string().refine((text) => Buffer.byteLength(text) <= maxTextBytes),
  file: z.string().max(4096).optional(),
  question: z
    .strictObject({
      principal: z.string().max(2048),
      groups: z.array(z.string().max(2048)).max(100),
      operation: z.string().max(200),
      id: z.string().max(4096),
    })
    .optional(),
})

/** Adds the routes that try a policy text, and that read the policy files in force. Nothing that they do has an effect. */
export function addPlayground(
  server: FastifyInstance,
  route: string,
  documents: () => readonly PolicyDocument[],
  { auditFolder, policyFolders, vocabulary }: PlaygroundSource,
): void {
  const playground = createPlayground()

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
    const request = requestSchema.safeParse(body)
    if (!request.success)
      return reply.code(400).send({ error: `expected a policy text of at most ${maxTextBytes} bytes` })
    const { text, file, question } = request.data
    try {
      return await playground.run({ text, file, question, auditFolder, vocabulary }, documents())
    } catch (error) {
      if (error instanceof PlaygroundError) return reply.code(400).send({ error: error.message })
      throw error
    }
  })
}
