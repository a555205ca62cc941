package check

import (
	"fmt"
	"net/url"
	"slices"

	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// checkNetwork follows the path from an agent to the broker: address, service, pod, policies.
func checkNetwork(cluster *Cluster, findings *Findings) {
	for name, service := range cluster.services {
		checkService(cluster, name, service, findings)
	}
	for name, settings := range cluster.settings {
		if broker, has := settings.Data["nats"]; has {
			checkBroker(cluster, "ConfigMap "+name, broker, findings)
		}
	}
	closed := map[networking.PolicyType]bool{}
	for name, policy := range cluster.policies {
		where := "NetworkPolicy " + name
		spec := policy.Spec
		if len(cluster.selected(&spec.PodSelector)) == 0 {
			findings.add(where, "is for pods that do not exist")
		}
		all := len(spec.PodSelector.MatchLabels)+len(spec.PodSelector.MatchExpressions) == 0
		for _, side := range spec.PolicyTypes {
			closed[side] = closed[side] || all && len(spec.Ingress)+len(spec.Egress) == 0
		}
		checkPolicy(cluster, where, spec, findings)
	}
	for _, side := range []networking.PolicyType{"Ingress", "Egress"} {
		if !closed[side] {
			findings.add("NetworkPolicy", "none denies all other traffic, for %s", side)
		}
	}
}

func checkService(cluster *Cluster, name string, service *core.Service, findings *Findings) {
	where := "Service " + name
	served := false
	for _, workload := range cluster.workloads {
		own := labels.Set(workload.template.Labels)
		if !labels.SelectorFromSet(service.Spec.Selector).Matches(own) {
			continue
		}
		served = true
		for _, port := range service.Spec.Ports {
			if !workload.listens(port.TargetPort) {
				findings.add(where, "%s has no port %s", workload.where, port.TargetPort.String())
			}
		}
	}
	if !served {
		findings.add(where, "selects no pods")
	}
}

// listens says whether a container declares a port, by number or by name.
func (workload *Workload) listens(port intstr.IntOrString) bool {
	for _, container := range workload.containers() {
		for _, own := range container.Ports {
			if own.Name == port.StrVal && port.StrVal != "" || own.ContainerPort == port.IntVal {
				return true
			}
		}
	}
	return false
}

func checkBroker(cluster *Cluster, where, broker string, findings *Findings) {
	address, err := url.Parse(broker)
	if err != nil || address.Scheme != "nats" && address.Scheme != "tls" {
		findings.add(where, "`%s` is not the address of a broker", broker)
		return
	}
	service := cluster.services[address.Hostname()]
	is := func(port core.ServicePort) bool { return fmt.Sprint(port.Port) == address.Port() }
	if service == nil || !slices.ContainsFunc(service.Spec.Ports, is) {
		findings.add(where, "`%s` names no Service with this port", address.Host)
	}
}

// checkPolicy checks a policy against the pods at its other end, if they are pods of the fleet.
func checkPolicy(
	cluster *Cluster, where string, spec networking.NetworkPolicySpec, findings *Findings,
) {
	for _, rule := range spec.Egress {
		for _, peer := range rule.To {
			if peer.PodSelector == nil || peer.NamespaceSelector != nil {
				continue
			}
			for _, workload := range cluster.theirs(where, peer, findings) {
				checkPorts(where, workload, rule.Ports, findings)
			}
		}
	}
	for _, rule := range spec.Ingress {
		for _, peer := range rule.From {
			if peer.PodSelector != nil && peer.NamespaceSelector == nil {
				cluster.theirs(where, peer, findings)
			}
		}
		for _, workload := range cluster.selected(&spec.PodSelector) {
			checkPorts(where, workload, rule.Ports, findings)
		}
	}
}

func (cluster *Cluster) theirs(
	where string, peer networking.NetworkPolicyPeer, findings *Findings,
) []*Workload {
	found := cluster.selected(peer.PodSelector)
	if len(found) == 0 {
		findings.add(where, "names pods that do not exist")
	}
	return found
}

func checkPorts(
	where string, workload *Workload, ports []networking.NetworkPolicyPort, findings *Findings,
) {
	if len(ports) == 0 {
		findings.add(where, "opens all ports of %s", workload.where)
	}
	for _, port := range ports {
		if port.Port == nil || !workload.listens(*port.Port) {
			findings.add(where, "%s has no such port", workload.where)
		}
	}
}
