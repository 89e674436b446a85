package org.opensearch.knn.grpc.proto.request.search.query;

/** In place of the one of k-NN 3, which would need the jars of the gRPC transport. The node serves no gRPC. */
public class KNNQueryBuilderProtoConverter {
}
