import { z } from 'zod'
import { catalogAddress } from '../interface/catalog-address.ts'

const milliseconds = z.int().positive()

/** The settings of a catalog elsewhere. */
export const remoteSettingsSchema = z.strictObject({
  ...catalogAddress,
  credential: catalogAddress.credential.describe(
    'What every request is made with, instead of the identity of its caller.',
  ),
  timeouts: z
    .strictObject({
      connectMs: milliseconds.default(5_000).describe('To connect, TLS included.'),
      answerMs: milliseconds
        .default(300_000)
        .describe('From the end of the request to the head of the answer.'),
      idleMs: milliseconds.default(60_000).describe('Between two pieces of an answer.'),
    })
    .prefault({}),
})

/** The settings of a catalog elsewhere, checked, with every default filled in. */
export type RemoteSettings = z.output<typeof remoteSettingsSchema>
