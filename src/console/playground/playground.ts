import type { FastifyInstance } from 'fastify'
import type { PolicySet, VocabularyOptions } from '../../policy/index.ts'
import { createThreadRunner } from '../thread/run-in-thread.ts'
import { maxTextBytes, trialSchema } from './trial.ts'

export interface PlaygroundSource {
  readonly vocabulary: VocabularyOptions
  /** The policies in force. */
  policies(): PolicySet
}

const maxBodyBytes = 2 * maxTextBytes

/** Adds the routes that try a policy text beside the policies in force, and that list their files. Nothing that they do has an effect. */
export function addPlayground(server: FastifyInstance, route: string, source: PlaygroundSource): void {
  const runInThread = createThreadRunner()

  server.get(`${route}/policy-files`, () => ({
    files: [...new Set(source.policies().documents.map(({ file }) => file))],
  }))

  server.post(`${route}/playground`, { bodyLimit: maxBodyBytes }, async ({ body }, reply) => {
    const { data } = trialSchema.safeParse(body)
    if (data === undefined)
      return reply
        .code(400)
        .send({ error: `expected a policy text of at most ${maxTextBytes} bytes, and a question about it` })
    const report = await runInThread(
      { trial: data, vocabulary: source.vocabulary },
      source.policies().documents,
    )
    return reply.code('error' in report ? 400 : 200).send(report)
  })
}
