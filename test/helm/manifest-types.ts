import type { ValidatingAdmissionPolicyBinding } from 'kubernetes-types/admissionregistration/v1.js'
import type { CustomResourceDefinition } from 'kubernetes-types/apiextensions/v1.js'
import type { Deployment, StatefulSet } from 'kubernetes-types/apps/v1.js'
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2.js'
import type { CronJob, Job } from 'kubernetes-types/batch/v1.js'
import type { ConfigMap, Pod, Secret, Service, ServiceAccount } from 'kubernetes-types/core/v1.js'
import type { Ingress, NetworkPolicy } from 'kubernetes-types/networking/v1.js'
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js'
import type { ClusterRole, Role, RoleBinding } from 'kubernetes-types/rbac/v1.js'

/** Types of the objects that the chart creates, by `apiVersion` and `kind`. */
export interface ManifestTypes {
  'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding': ValidatingAdmissionPolicyBinding
  // The golden files name the file with its schema, which has a test of its own.
  'apiextensions.k8s.io/v1 CustomResourceDefinition': Omit<CustomResourceDefinition, 'spec'> & {
    readonly spec: string
  }
  'apps/v1 Deployment': Deployment
  'apps/v1 StatefulSet': StatefulSet
  'autoscaling/v2 HorizontalPodAutoscaler': HorizontalPodAutoscaler
  'batch/v1 CronJob': CronJob
  'batch/v1 Job': Job
  'networking.k8s.io/v1 Ingress': Ingress
  'networking.k8s.io/v1 NetworkPolicy': NetworkPolicy
  'policy/v1 PodDisruptionBudget': PodDisruptionBudget
  'rbac.authorization.k8s.io/v1 ClusterRole': ClusterRole
  'rbac.authorization.k8s.io/v1 Role': Role
  'rbac.authorization.k8s.io/v1 RoleBinding': RoleBinding
  'v1 ConfigMap': ConfigMap
  'v1 Pod': Pod
  'v1 Secret': Secret
  'v1 Service': Service
  'v1 ServiceAccount': ServiceAccount
  // No published types, or incomplete ones; the golden files were reviewed by hand.
  'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy': object
  'gateway.networking.k8s.io/v1 HTTPRoute': object
  'monitoring.coreos.com/v1 PrometheusRule': object
  'monitoring.coreos.com/v1 ServiceMonitor': object
}
