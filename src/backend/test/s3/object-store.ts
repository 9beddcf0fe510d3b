import { randomBytes } from 'node:crypto'
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { inject, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

/** Creates a bucket, the settings of a catalog in it, and functions to inspect its objects. */
export async function freshBucket(endpoint = inject('s3Endpoint')) {
  const bucket = `tests-${randomBytes(6).toString('hex')}`
  const location = `s3://${bucket}/some/prefix`
  const client = new S3Client({ endpoint: inject('s3Endpoint'), forcePathStyle: true })
  onTestFinished(() => client.destroy())
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  const folder = await temporaryFolder()
  const keys = async (prefix = '') => {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }))
    return Contents.map(({ Key }) => Key ?? '')
  }
  return {
    client,
    bucket,
    location,
    endpoint,
    /** The store is a SQLite file in `folder`, or the PostgreSQL of these tests. */
    settings: { data: { s3: { location, endpoint } }, store: { folder } },
    folder,
    keys,
    put: (Key: string, Body: Uint8Array | string) =>
      client.send(new PutObjectCommand({ Bucket: bucket, Key, Body })),
    /** Stores an existing object again as a multipart upload; returns its tag. */
    putInParts: async (Key: string) => {
      const location = { Bucket: bucket, Key }
      const { Body } = await client.send(new GetObjectCommand(location))
      const { UploadId } = await client.send(new CreateMultipartUploadCommand(location))
      const bytes = await Body?.transformToByteArray()
      const part = { PartNumber: 1, UploadId }
      const { ETag } = await client.send(new UploadPartCommand({ ...location, ...part, Body: bytes ?? '' }))
      const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
      const done = await client.send(
        new CompleteMultipartUploadCommand({ ...location, UploadId, MultipartUpload }),
      )
      return done.ETag
    },
    remove: (all: readonly string[]) =>
      client.send(
        new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: all.map((Key) => ({ Key })) } }),
      ),
  }
}
