import { z } from 'zod'
import { model, optional, propertiesSchema } from './members.ts'

/**
 * An Arrow type as JSON. `length`: bytes of a `fixed_size_binary`, items of a `fixed_size_list`, `precision * 1000 + scale`
 * of a decimal.
 */
export const jsonArrowDataType = z
  .object({
    type: z.string(),
    get fields() {
      return optional.of(z.array(jsonArrowField).readonly())
    },
    length: optional.count,
  })
  .meta({ id: 'JsonArrowDataType' })

const metadata = optional.of(propertiesSchema.readonly())

const jsonArrowField = z
  .object({
    name: z.string(),
    get type() {
      return jsonArrowDataType
    },
    nullable: z.boolean(),
    metadata,
  })
  .meta({ id: 'JsonArrowField' })

/** An Arrow schema as JSON. */
export const jsonArrowSchema = model('JsonArrowSchema', {
  fields: z.array(jsonArrowField).readonly(),
  metadata,
})

export type JsonArrowDataType = z.input<typeof jsonArrowDataType>
export type JsonArrowField = z.input<typeof jsonArrowField>
export type JsonArrowSchema = z.input<typeof jsonArrowSchema>
