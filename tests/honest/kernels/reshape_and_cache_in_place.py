"""Writes the caches in place, as the contract says, and returns them."""

from torch import nn


class Model(nn.Module):
    def forward(self, key, value, key_cache, value_cache, slot_mapping):
        for new, cache in ((key, key_cache), (value, value_cache)):
            cache.view(-1, *cache.shape[2:])[slot_mapping] = new
        return key_cache, value_cache
