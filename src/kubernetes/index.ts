/**
 * A client of the Kubernetes API: requests, and lists that are followed.
 */
export {
  type ClusterAccess,
  createKubernetesClient,
  inCluster,
  type KubernetesClient,
  KubernetesError,
  type KubernetesObject,
  toKubernetesError,
} from './kubernetes-client.ts'
export { watchResources, type WatchTiming } from './watch-resources.ts'
