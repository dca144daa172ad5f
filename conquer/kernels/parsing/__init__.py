"""Edge features, spanning trees and questions about sentences, compiled."""
