import { z } from 'zod'
import { every, flagMember, int64, maybe, model, optional, pageSchemas, schemas } from './members.ts'

/** Code, types and environments in responses have no schema here: only clients interpret them. */
const definition = z.record(z.string(), z.unknown())
const version = z.string().min(1)

/** A reference to one version of a registered function. An absent `namespace_path` is the root. */
export const functionReference = model('FunctionReference', {
  name: z.string(),
  namespace_path: optional.texts,
  ...every(maybe.text, 'object_id', 'location', 'version', 'manifest_digest'),
})

const typedName = { ...every(z.string(), 'name', 'arrow_type'), nullable: z.boolean() }
const functionParameter = model('FunctionParameter', { ...typedName, blob_access: maybe.text })

export const functionOutput = model('FunctionOutput', {
  kind: z.string(),
  arrow_type: maybe.text,
  nullable: maybe.flag,
  fields: z.array(z.object(typedName)).optional(),
})

/** Which members are required depends on the catalog. */
const functionArtifact = model('FunctionArtifact', {
  ...every(maybe.text, 'kind', 'digest', 'entrypoint'),
  content: z.object(every(z.string(), 'encoding', 'data')).optional(),
  adapter: z.object({ kind: z.string(), version: z.int() }).optional(),
})

const functionSignature = model('FunctionSignature', {
  ...every(z.array(functionParameter).optional(), 'inputs', 'initialization'),
  output: functionOutput.optional(),
})

const environment = z.object({
  kind: z.string(),
  ...every(maybe.text, 'path', 'image'),
  ...every(maybe.texts, 'packages', 'channels', 'modules'),
})

const functionRuntime = model('FunctionRuntime', {
  ...every(maybe.text, 'kind', 'python_version'),
  environment: environment.optional(),
  env: maybe.properties,
  gpu: maybe.flag,
})

/** Binds a secret of the catalog to a variable in the environment of the function. An absent path is the root. */
const secretBinding = model('SecretBinding', {
  ...every(z.string(), 'kind', 'variable'),
  secret_ref: z.object({ name: z.string(), namespace_path: optional.texts }),
})

const functionImage = z
  .looseObject({ manifest_digest: z.string(), descriptor: definition, source: z.boolean() })
  .meta({ id: 'FunctionImage' })

const functionVersion = z
  .looseObject({
    name: z.string(),
    version,
    ...every(definition.optional(), 'artifact', 'signature', 'runtime'),
    ...every(maybe.text, 'runtime_digest', 'environment_digest', 'object_id', 'location', 'created_at'),
    namespace_path: maybe.texts,
    image: functionImage.optional(),
    secret_bindings: z.array(z.looseObject({ kind: z.string() })).optional(),
    created_at_millis: maybe.count,
    metadata: maybe.properties,
    disabled: maybe.flag,
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
  DropFunction: schemas({ version }, { dropped: z.boolean(), job_id: maybe.text }),
  ListFunctions: pageSchemas({ include_definition: flagMember }, { functions: z.array(listedFunction) }),
}

const name = z.string()
const value = z.string()

/** No response has the value of a secret. */
export const secretSchemas = {
  CreateSecret: schemas({ value }, {}),
  AlterSecret: schemas({ value }, {}),
  DescribeSecret: schemas({}, { name, ...every(int64, 'created_at_millis', 'updated_at_millis') }),
  DropSecret: schemas({}, {}),
  ListSecrets: pageSchemas({}, { secrets: z.array(model('ListedSecret', { name })) }),
}
