import { z } from 'zod'

export const maxTextBytes = 256 * 1024
const maxQuestions = 20

export const trialSchema = z.strictObject({
  /** A policy file. */
  text: z.string().refine((text) => Buffer.byteLength(text) <= maxTextBytes),
  /** The file in force that it replaces; undefined for a further one. */
  file: z.string().max(4096).optional(),
  /** May this caller do that? An empty principal is a caller without a credential. */
  questions: z
    .array(
      z.strictObject({
        principal: z.string().max(2048),
        groups: z.array(z.string().max(2048)).max(100),
        operation: z.string().max(200),
        id: z.string().max(4096),
      }),
    )
    .max(maxQuestions)
    .default([]),
})

/** A text to try, with questions about it. */
export type Trial = z.output<typeof trialSchema>
