import { z } from 'zod'
import { optional, propertiesSchema } from './members.ts'

/** An Arrow type as JSON. */
export interface JsonArrowDataType {
  readonly type: string
  readonly fields?: readonly JsonArrowField[] | undefined
  /** Bytes of a `fixed_size_binary`, items of a `fixed_size_list`, `precision * 1000 + scale` of a decimal. */
  readonly length?: number | undefined
}

export interface JsonArrowField {
  readonly name: string
  readonly type: JsonArrowDataType
  readonly nullable: boolean
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** An Arrow schema as JSON. */
export interface JsonArrowSchema {
  readonly fields: readonly JsonArrowField[]
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

export const jsonArrowDataType: z.ZodType<JsonArrowDataType> = z
  .object({
    type: z.string(),
    get fields() {
      return optional.of(z.array(jsonArrowField).readonly())
    },
    length: optional.count,
  })
  .meta({ id: 'JsonArrowDataType' })

const jsonArrowField: z.ZodType<JsonArrowField> = z
  .object({
    name: z.string(),
    get type() {
      return jsonArrowDataType
    },
    nullable: z.boolean(),
    metadata: optional.of(propertiesSchema.readonly()),
  })
  .meta({ id: 'JsonArrowField' })

export const jsonArrowSchema: z.ZodType<JsonArrowSchema> = z
  .object({
    fields: z.array(jsonArrowField).readonly(),
    metadata: optional.of(propertiesSchema.readonly()),
  })
  .meta({ id: 'JsonArrowSchema' })
