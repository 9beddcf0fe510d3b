import { z } from 'zod'
import { flagMember, int64, optional, pageSchemas, pagingMembers, schemas } from './members.ts'

/** Code, types and environments in responses have no schema here: only clients interpret them. */
const definition = z.record(z.string(), z.unknown())
const version = z.string().min(1)
const text = z.string().optional()
const list = z.array(z.string()).optional()

/** A reference to one version of a registered function. An absent `namespace_path` is the root. */
export const functionReference = z
  .object({
    name: z.string(),
    namespace_path: optional.texts,
    object_id: text,
    location: text,
    version: text,
    manifest_digest: text,
  })
  .meta({ id: 'FunctionReference' })

const functionParameter = z
  .object({ name: z.string(), arrow_type: z.string(), nullable: z.boolean(), blob_access: text })
  .meta({ id: 'FunctionParameter' })

export const functionOutput = z
  .object({
    kind: z.string(),
    arrow_type: text,
    nullable: z.boolean().optional(),
    fields: z.array(z.object({ name: z.string(), arrow_type: z.string(), nullable: z.boolean() })).optional(),
  })
  .meta({ id: 'FunctionOutput' })

/** Which members are required depends on the catalog. */
const functionArtifact = z
  .object({
    kind: text,
    digest: text,
    entrypoint: text,
    content: z.object({ encoding: z.string(), data: z.string() }).optional(),
    adapter: z.object({ kind: z.string(), version: z.int() }).optional(),
  })
  .meta({ id: 'FunctionArtifact' })

const functionSignature = z
  .object({
    inputs: z.array(functionParameter).optional(),
    output: functionOutput.optional(),
    initialization: z.array(functionParameter).optional(),
  })
  .meta({ id: 'FunctionSignature' })

const functionRuntime = z
  .object({
    kind: text,
    python_version: text,
    environment: z
      .object({ kind: z.string(), packages: list, channels: list, path: text, modules: list, image: text })
      .optional(),
    env: z.record(z.string(), z.string()).optional(),
    gpu: z.boolean().optional(),
  })
  .meta({ id: 'FunctionRuntime' })

/** Binds a secret of the catalog to a variable in the environment of the function. An absent path is the root. */
const secretBinding = z
  .object({
    kind: z.string(),
    variable: z.string(),
    secret_ref: z.object({ name: z.string(), namespace_path: optional.texts }),
  })
  .meta({ id: 'SecretBinding' })

const functionImage = z
  .looseObject({ manifest_digest: z.string(), descriptor: definition, source: z.boolean() })
  .meta({ id: 'FunctionImage' })

const functionVersion = z
  .looseObject({
    name: z.string(),
    version,
    artifact: definition.optional(),
    signature: definition.optional(),
    runtime: definition.optional(),
    runtime_digest: z.string().optional(),
    environment_digest: z.string().optional(),
    namespace_path: list,
    object_id: text,
    location: text,
    image: functionImage.optional(),
    secret_bindings: z.array(z.looseObject({ kind: z.string() })).optional(),
    created_at: z.string().optional(),
    created_at_millis: int64.optional(),
    metadata: z.record(z.string(), z.string()).optional(),
    disabled: z.boolean().optional(),
  })
  .meta({ id: 'FunctionVersion' })

/** LanceDB's clients read the definition of a listed function from a member of its own. */
const listedFunction = z
  .looseObject({ name: z.string(), version, definition: functionVersion.optional() })
  .meta({ id: 'ListedFunction' })

export const functionSchemas = {
  CreateFunction: schemas(
    {
      artifact: functionArtifact,
      signature: functionSignature,
      runtime: optional.of(functionRuntime),
      secret_bindings: optional.of(z.array(secretBinding)),
    },
    { job_id: z.string() },
  ),
  DescribeFunction: { ...schemas({ version }, {}), response: functionVersion },
  DropFunction: schemas({ version }, { dropped: z.boolean(), job_id: text }),
  ListFunctions: pageSchemas(
    { ...pagingMembers, include_definition: flagMember },
    { functions: z.array(listedFunction) },
  ),
}

const name = z.string()
const value = z.string()

/** No response has the value of a secret. */
export const secretSchemas = {
  CreateSecret: schemas({ value }, {}),
  AlterSecret: schemas({ value }, {}),
  DescribeSecret: schemas({}, { name, created_at_millis: int64, updated_at_millis: int64 }),
  DropSecret: schemas({}, {}),
  ListSecrets: pageSchemas(pagingMembers, {
    secrets: z.array(z.object({ name }).meta({ id: 'ListedSecret' })),
  }),
}
